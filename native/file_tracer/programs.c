#include "programs.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "paths.h"
#include "record.h"

/* The kernel's limits: BINPRM_BUF_SIZE and the depth of nested interpreters. */
enum { FIRST_LINE_BYTES = 256, MAXIMUM_INTERPRETERS = 5 };

/* Write the interpreter in the "#!" line at the start of `text` to `interpreter`. */
static bool script_interpreter(const char *text, char interpreter[PATH_BYTES]) {
    if (strncmp(text, "#!", 2)) return false;
    text += 2 + strspn(text + 2, " \t");
    size_t length = strcspn(text, " \t\n");
    snprintf(interpreter, PATH_BYTES, "%.*s", (int)length, text);
    return length > 0;
}

/* Write the dynamic loader of the 64-bit executable `file` to `loader`. */
static bool dynamic_loader(int file, char loader[PATH_BYTES]) {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    if (pread(file, &header, sizeof header, 0) != sizeof header) return false;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        off_t offset = header.e_phoff + (off_t)i * header.e_phentsize;
        if (pread(file, &segment, sizeof segment, offset) != sizeof segment) return false;
        if (segment.p_type != PT_INTERP) continue;
        if (!segment.p_filesz || segment.p_filesz > PATH_MAX) return false;
        ssize_t length = pread(file, loader, segment.p_filesz, segment.p_offset);
        if (length <= 0) return false;
        loader[length] = 0;
        return true;
    }
    return false;
}

static void record_resolved(pid_t tgid, pid_t tid, const char *path, unsigned uses,
                            char real[PATH_BYTES]) {
    char absolute[PATH_BYTES], lookup[PATH_BYTES], directory[PATH_BYTES];
    if (*path != '/' && descriptor_path(tid, AT_FDCWD, directory) &&
        (size_t)snprintf(absolute, PATH_BYTES, "%s/%s", directory, path) < PATH_BYTES)
        path = absolute;
    if (!resolve(tgid, tid, path, true, lookup, real)) strcpy(real, path);
    record_use(lookup, uses, real, true);
    if (strcmp(lookup, real)) record_use(real, uses, real, true);
}

static void record_interpreters(pid_t tgid, pid_t tid, const char *path, int depth) {
    char real[PATH_BYTES], interpreter[PATH_BYTES], text[FIRST_LINE_BYTES + 1];
    record_resolved(tgid, tid, path, USE_EXECUTE, real);
    int file = open(real, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        record_incomplete("%s: cannot read which interpreter it needs", real);
        return;
    }
    ssize_t length = pread(file, text, FIRST_LINE_BYTES, 0);
    text[length > 0 ? length : 0] = 0;
    if (script_interpreter(text, interpreter)) {
        if (depth < MAXIMUM_INTERPRETERS) record_interpreters(tgid, tid, interpreter, depth + 1);
    } else if (dynamic_loader(file, interpreter)) {
        record_resolved(tgid, tid, interpreter, USE_MAP_EXECUTE, real);
    }
    close(file);
}

/* A traced program does not get the privileges of its file. */
static void check_privileges(const char *executable) {
    struct stat status;
    if (stat(executable, &status)) return;
    bool gains_user = status.st_mode & S_ISUID && status.st_uid != geteuid();
    bool gains_group = (status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
                       status.st_gid != getegid();
    bool gains_capabilities =
        geteuid() && getxattr(executable, "security.capability", NULL, 0) > 0;
    if (gains_user || gains_group || gains_capabilities)
        record_incomplete("%s ran without its setuid, setgid or file capabilities", executable);
}

void record_program(pid_t tgid, pid_t tid, const char *path) {
    char executable[PATH_BYTES];
    record_interpreters(tgid, tid, path, 0);
    /* It differs only for formats registered with binfmt_misc. */
    if (!process_link(tgid, "exe", executable)) return;
    record_interpreters(tgid, tid, executable, MAXIMUM_INTERPRETERS);
    check_privileges(executable);
}
