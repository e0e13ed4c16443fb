#define _GNU_SOURCE
#include "accesses.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "memory.h"
#include "outcomes.h"
#include "paths.h"
#include "programs.h"
#include "record.h"

enum { PAGE_BYTES = 4096 };

/* Read `size` bytes at `address` of the thread, or fewer; returns the number read, 0 if none. */
static size_t read_memory(pid_t tid, uint64_t address, void *buffer, size_t size) {
    struct iovec here = {buffer, size}, there = {(void *)(uintptr_t)address, size};
    ssize_t count = process_vm_readv(tid, &here, 1, &there, 1, 0);
    if (count < 0 && errno == EPERM)
        record_incomplete("process %d does not let its memory be read", tid);
    return count < 0 ? 0 : (size_t)count;
}

/* Read a path; false if there is none that the kernel would accept. */
static bool read_path(pid_t tid, uint64_t address, char path[PATH_MAX]) {
    size_t length = 0;
    while (length < PATH_MAX) {
        /* Not across a page's end: the next page may not exist. */
        size_t size = PAGE_BYTES - (address + length) % PAGE_BYTES;
        if (size > PATH_MAX - length) size = PATH_MAX - length;
        size_t count = read_memory(tid, address + length, path + length, size);
        if (!count) return false;
        if (memchr(path + length, 0, count)) return true;
        length += count;
    }
    return false;
}

/* The absolute path of an argument, in allocated memory; NULL if no path is looked up. */
static char *absolute_path(pid_t tid, const struct call *call, struct path_argument argument,
                           const uint64_t arguments[6]) {
    char name[PATH_MAX], path[PATH_BYTES];
    uint64_t address = arguments[argument.path - 1];
    if (!address)
        *name = 0; /* utimensat and statx: the descriptor itself */
    else if (!read_path(tid, address, name))
        return NULL;
    if (*name == '/') return copy_text(name);
    int directory = argument.directory ? (int)arguments[argument.directory - 1] : AT_FDCWD;
    /* An empty path names the descriptor. Its opening is already in the record. */
    bool by_descriptor = !*name && argument.directory;
    if (by_descriptor ? call->uses == USE_STAT || call->kind == OPEN : !*name) return NULL;
    if (!descriptor_path(tid, directory, path)) return NULL;
    if (by_descriptor) return copy_text(path);
    size_t length = strlen(path);
    if (length + 1 + strlen(name) >= PATH_BYTES) return NULL;
    path[length] = '/';
    strcpy(path + length + 1, name);
    return copy_text(path);
}

static bool is_link_or_directory(const char *path) {
    struct stat status;
    return !lstat(path, &status) && (S_ISLNK(status.st_mode) || S_ISDIR(status.st_mode));
}

static bool changes_names(const struct call *call) {
    return call->kind == LOOK_UP && call->uses == USE_WRITE && call->no_follow;
}

static bool makes_links(const struct call *call) {
    return call == call_of(SYS_symlink) || call == call_of(SYS_symlinkat);
}

static uint64_t open_flags(pid_t tid, const struct call *call, const uint64_t arguments[6]) {
    struct open_how how = {0};
    if (call == call_of(SYS_creat)) return O_WRONLY | O_CREAT | O_TRUNC;
    if (call != call_of(SYS_openat2)) return arguments[call->flags - 1];
    read_memory(tid, arguments[2], &how, sizeof how);
    if (how.resolve & RESOLVE_IN_ROOT)
        record_incomplete("process %d opened a file in a root of its own (RESOLVE_IN_ROOT)", tid);
    return how.flags;
}

static unsigned uses_of_open(uint64_t flags) {
    if (flags & O_PATH) return USE_STAT;
    unsigned truncates = flags & O_TRUNC ? USE_WRITE : 0;
    switch (flags & O_ACCMODE) {
        case O_RDONLY: return USE_READ | truncates;
        case O_WRONLY: return USE_WRITE;
        default: return USE_READ | USE_WRITE;
    }
}

/* Record the origin of a call on any file system except the kernel's own, whose files are never
 * removed. */
static void note_origin_of(struct tracee *tracee, const char *path, uint64_t instruction) {
    static const char *const others[] = {"/proc/", "/sys/", "/dev/"};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (!strncmp(path, others[i], strlen(others[i]))) return;
    note_origin(&tracee->origins, tracee->tgid, instruction);
}

static void describe_targets(struct tracee *tracee, const uint64_t arguments[6],
                             uint64_t instruction) {
    const struct call *call = tracee->call;
    tracee->redirects = makes_links(call);
    unsigned uses = call->kind == EXECUTE ? USE_EXECUTE : call->uses;
    bool follow = !call->no_follow;
    unsigned creates = call->creates;
    if (call->kind == OPEN) {
        uint64_t flags = open_flags(tracee->tid, call, arguments);
        uses = uses_of_open(flags);
        follow = !(flags & O_NOFOLLOW) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
        creates = flags & O_CREAT ? 1 : 0;
    } else if (call->flags) {
        uint64_t flags = arguments[call->flags - 1];
        follow = call->no_follow ? flags & AT_SYMLINK_FOLLOW : !(flags & AT_SYMLINK_NOFOLLOW);
    }
    for (unsigned i = 0; i < 2 && call->paths[i].path; i++) {
        char *path = absolute_path(tracee->tid, call, call->paths[i], arguments);
        tracee->targets[i] = (struct target){path, uses, follow, false};
        if (path) note_origin_of(tracee, path, instruction);
        if (path && changes_names(call)) tracee->redirects |= is_link_or_directory(path);
        if (path && creates == i + 1) tracee->targets[i].absent = is_absent(path, follow);
    }
}

void forget_call(struct tracee *tracee) {
    for (int i = 0; i < 2; i++) {
        free(tracee->targets[i].path);
        tracee->targets[i].path = NULL;
    }
    tracee->call = NULL;
}

/* Whether the call uses a file by its descriptor; if so, the use is recorded. */
static bool uses_descriptor(struct tracee *tracee, const struct call *call,
                            const uint64_t arguments[6], uint64_t instruction) {
    char path[PATH_BYTES];
    if (call->kind != MAP && call->kind != LIST) return false;
    int descriptor = (int)arguments[call->kind == MAP ? 4 : 0];
    unsigned uses = call->kind == LIST                  ? USE_LIST
                    : arguments[2] & PROT_EXEC ? USE_MAP_EXECUTE
                                               : USE_MAP;
    if (!descriptor_path(tracee->tid, descriptor, path)) return true;
    record_use(path, uses, path, true);
    if (call->kind == LIST) note_origin_of(tracee, path, instruction);
    return true;
}

/* Whether the awaited call adds nothing: it has one path, which is known. */
static bool tells_nothing(const struct tracee *tracee) {
    const struct target *target = &tracee->targets[0];
    if (!target->path || tracee->targets[1].path || target->absent) return false;
    if (tracee->call->kind == EXECUTE || changes_names(tracee->call)) return false;
    return is_known(target);
}

void call_entered(struct tracee *tracee, const struct call *call, const uint64_t arguments[6],
                  uint64_t instruction) {
    forget_call(tracee);
    if (uses_descriptor(tracee, call, arguments, instruction)) return;
    tracee->call = call;
    describe_targets(tracee, arguments, instruction);
    bool of_interest = tracee->targets[0].path || tracee->targets[1].path || call->kind == NOTE;
    if (!of_interest || tells_nothing(tracee)) forget_call(tracee);
}

void call_foreseen(struct tracee *tracee, const struct call *call, const uint64_t arguments[6],
                   uint64_t instruction) {
    forget_call(tracee);
    if (uses_descriptor(tracee, call, arguments, instruction)) return;
    tracee->call = call;
    describe_targets(tracee, arguments, instruction);
    const struct target *target = &tracee->targets[0]; /* its only one */
    if (target->path && !is_known(target))
        record_foreseen(tracee, target, call->kind == OPEN ? arguments[call->flags - 1] : 0);
    forget_call(tracee);
}

bool may_wait(const struct tracee *tracee, const struct call *call, const uint64_t arguments[6]) {
    char lookup[PATH_BYTES], real[PATH_BYTES];
    struct stat status;
    if (call->kind != OPEN) return false;
    char *path = absolute_path(tracee->tid, call, call->paths[0], arguments);
    bool found = path && resolve(tracee->tgid, tracee->tid, path, true, lookup, real) &&
                 !stat(real, &status);
    free(path);
    return found && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

void call_returned(struct tracee *tracee, int64_t result) {
    const struct call *call = tracee->call;
    if (call->kind == NOTE) {
        if (result >= 0 || call == call_of(SYS_ptrace))
            record_incomplete("process %d %s", tracee->tgid, call->name);
    } else {
        for (int i = 0; i < 2; i++) {
            if (tracee->targets[i].path) record_outcome(tracee, &tracee->targets[i], result);
        }
        if (tracee->redirects && result >= 0) forget_outcomes();
    }
    forget_call(tracee);
}

void program_started(struct tracee *tracee, struct tracee *caller) {
    if (caller->targets[0].path)
        record_program(tracee->tgid, tracee->tid, caller->targets[0].path);
    tracee->origins = (struct origins){0};
    forget_call(caller);
}
