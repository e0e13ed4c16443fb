/* The record: a log of JSON lines, each written when its fact is first seen.
 *
 *   {"path": P, "uses": [...], "real": R}           uses not recorded before; R may be null
 *   {"path": P, "uses": [...], "real": P, "witness": "fanotify"}    opened, by no call that was seen
 *   {"witness": "fanotify", "files": N}             how many different files it saw being opened
 *   {"own_calls": P}                                its code made calls on files, not by way of glibc
 *   {"process": PID, "parent": PID, "executable": E}
 *   {"exec": PID, "executable": E}                  the process runs another program now
 *   {"ended": PID, "exit": N}  or  {"ended": PID, "signal": N}
 *   {"incomplete": REASON}                          something could not be recorded
 *   {"error": TEXT, "exit": N}                      the command or the tracer could not start
 *   {"end": true, "exit": N}                        the last line of a whole record
 *
 * Bytes of paths that are not UTF-8 are written unchanged.
 */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum use {
    USE_READ = 1 << 0,
    USE_WRITE = 1 << 1,
    USE_EXECUTE = 1 << 2,
    USE_MAP = 1 << 3,
    USE_MAP_EXECUTE = 1 << 4,
    USE_STAT = 1 << 5,
    USE_READLINK = 1 << 6,
    USE_LIST = 1 << 7,
    USE_MISSING = 1 << 8,
    USE_LINK = 1 << 9,
};

/* False, with errno set, if `path` cannot be written. */
bool record_open(const char *path);

/* `real` is the path without symbolic links, or NULL if the look-up failed. `followed`: a link in
 * the last component was followed too; such a real path replaces others. */
void record_use(const char *path, unsigned uses, const char *real, bool followed);

/* fanotify reported that the real path `path` was opened: record it if no call was seen for it. */
void record_witnessed(const char *path, unsigned uses);
void record_witness_count(size_t seen);

/* The code in the file `path` makes its own system calls on files. */
void record_own_calls(const char *path);

void record_process(pid_t pid, pid_t parent, const char *executable);
void record_exec(pid_t pid, const char *executable);
void record_ended(pid_t pid, int wait_status);
void record_incomplete(const char *format, ...) __attribute__((format(printf, 1, 2)));
void record_error(const char *text, int exit_status);

/* Write the last line; false, with errno set, if the record is incomplete. */
bool record_close(int exit_status);

#endif
