#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "memory.h"
#include "table.h"

/* A flag beside the uses of a path: its real path is final. */
#define FOLLOWED (1u << 31)

static const char *const use_names[] = {"read", "write",    "execute", "map",     "map_execute",
                                        "stat", "readlink", "list",    "missing", "link"};

static FILE *output;
static struct table files, reasons;
static int write_error; /* errno of the first flush that failed */

bool record_open(const char *path) {
    /* A file that another program put there must not block the opening, nor be written through. */
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int file = open(path, flags, 0644);
    output = file < 0 ? NULL : fdopen(file, "w");
    return output && !setvbuf(output, NULL, _IOFBF, 1 << 16);
}

static void put_text(const char *text) {
    if (!text) {
        fputs("null", output);
        return;
    }
    putc_unlocked('"', output);
    for (; *text; text++) {
        unsigned char byte = *text;
        if (byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f)
            fprintf(output, "\\u%04x", byte);
        else
            putc_unlocked(byte, output);
    }
    putc_unlocked('"', output);
}

/* The beginning of a line, with those `uses` that the entry lacks. */
static void put_use(const char *path, unsigned uses, const struct entry *entry) {
    fputs("{\"path\": ", output);
    put_text(path);
    fputs(", \"uses\": [", output);
    const char *separator = "";
    for (unsigned i = 0; i < sizeof use_names / sizeof *use_names; i++)
        if (uses & ~entry->bits & (1u << i)) {
            fprintf(output, "%s\"%s\"", separator, use_names[i]);
            separator = ", ";
        }
    fputs("], \"real\": ", output);
    put_text(entry->text);
}

void record_use(const char *path, unsigned uses, const char *real, bool followed) {
    struct entry *entry = table_entry(&files, path);
    bool better = real && (!entry->text || (followed && !(entry->bits & FOLLOWED)));
    if (better && (!entry->text || strcmp(entry->text, real))) {
        free(entry->text);
        entry->text = copy_text(real);
    } else {
        if (!(uses & ~entry->bits)) return;
    }
    put_use(path, uses, entry);
    fputs("}\n", output);
    entry->bits |= uses | (better && followed ? FOLLOWED : 0);
}

void record_witnessed(const char *path, unsigned uses) {
    enum { CONTENTS = USE_READ | USE_WRITE | USE_EXECUTE | USE_MAP | USE_MAP_EXECUTE };
    struct entry *entry = table_entry(&files, path);
    if (entry->bits & CONTENTS) return;
    if (!entry->text) entry->text = copy_text(path);
    put_use(path, uses, entry);
    fputs(", \"witness\": \"fanotify\"}\n", output);
    entry->bits |= uses;
}

void record_witness_count(size_t seen) {
    fprintf(output, "{\"witness\": \"fanotify\", \"files\": %zu}\n", seen);
}

void record_own_calls(const char *path) {
    static struct table known;
    if (table_has(&known, path)) return;
    table_entry(&known, path);
    fputs("{\"own_calls\": ", output);
    put_text(path);
    fputs("}\n", output);
}

/* Facts about processes are rare, and are needed to read an incomplete record: not buffered. */
static void finish_line(const char *executable) {
    if (executable) {
        fputs(", \"executable\": ", output);
        put_text(executable);
    }
    fputs("}\n", output);
    if (fflush(output) && !write_error) write_error = errno;
}

void record_process(pid_t pid, pid_t parent, const char *executable) {
    fprintf(output, "{\"process\": %d, \"parent\": %d", pid, parent);
    finish_line(executable);
}

void record_exec(pid_t pid, const char *executable) {
    fprintf(output, "{\"exec\": %d", pid);
    finish_line(executable);
}

void record_ended(pid_t pid, int wait_status) {
    if (WIFSIGNALED(wait_status))
        fprintf(output, "{\"ended\": %d, \"signal\": %d", pid, WTERMSIG(wait_status));
    else
        fprintf(output, "{\"ended\": %d, \"exit\": %d", pid, WEXITSTATUS(wait_status));
    finish_line(NULL);
}

void record_incomplete(const char *format, ...) {
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    if (table_has(&reasons, reason)) return;
    table_entry(&reasons, reason);
    fputs("{\"incomplete\": ", output);
    put_text(reason);
    finish_line(NULL);
}

void record_error(const char *text, int exit_status) {
    fputs("{\"error\": ", output);
    put_text(text);
    fprintf(output, ", \"exit\": %d", exit_status);
    finish_line(NULL);
}

bool record_close(int exit_status) {
    bool written = !ferror(output);
    /* After a failed write, an `end` line would mark an incomplete record as complete. */
    if (written) fprintf(output, "{\"end\": true, \"exit\": %d}\n", exit_status);
    bool closed = !fclose(output);
    if (!written) errno = write_error ? write_error : EIO;
    return written && closed;
}
