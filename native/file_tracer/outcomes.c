#define _GNU_SOURCE
#include "outcomes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paths.h"
#include "record.h"
#include "table.h"

enum { KEY_BYTES = PATH_BYTES + 16 };

enum outcome { FOUND, REFUSED, ABSENT };

/* Look-ups that succeeded, as "USES FOLLOW PATH": equal ones need no second check. */
static struct table seen;

static void seen_key(const struct target *target, char key[KEY_BYTES]) {
    snprintf(key, KEY_BYTES, "%x %d %s", target->uses, target->follow, target->path);
}

bool is_known(const struct target *target) {
    char key[KEY_BYTES];
    seen_key(target, key);
    return table_has(&seen, key);
}

void forget_outcomes(void) {
    forget_links();
    table_clear(&seen);
}

static int look(const char *path, bool follow, struct stat *status) {
    bool there = !fstatat(AT_FDCWD, path, status, follow ? 0 : AT_SYMLINK_NOFOLLOW);
    return there ? 0 : errno;
}

bool is_absent(const char *path, bool follow) {
    struct stat status;
    int error = look(path, follow, &status);
    return error == ENOENT || error == ENOTDIR;
}

static void record(const struct target *target, enum outcome outcome, unsigned uses,
                   const char *lookup, const char *real) {
    char key[KEY_BYTES];
    if (outcome != FOUND) uses = outcome == ABSENT ? USE_MISSING : USE_STAT;
    const char *there = outcome == ABSENT ? NULL : real;
    record_use(lookup, uses, there, target->follow);
    if (strcmp(lookup, real)) record_use(real, uses, there, target->follow);
    /* The content of /proc depends on the reader. */
    if (outcome != FOUND || !strncmp(lookup, "/proc/", 6)) return;
    seen_key(target, key);
    table_entry(&seen, key);
}

static void record_success(const struct tracee *tracee, const struct target *target,
                           int descriptor) {
    char lookup[PATH_BYTES], real[PATH_BYTES], opened[PATH_BYTES];
    struct stat status;
    if (!resolve(tracee->tgid, tracee->tid, target->path, target->follow, lookup, real)) {
        record_incomplete("cannot resolve %s", target->path);
        return;
    }
    unsigned uses = target->uses;
    if (tracee->call->kind == OPEN) {
        if (descriptor_path(tracee->tid, descriptor, opened)) strcpy(real, opened);
        snprintf(opened, sizeof opened, "/proc/%d/fd/%d", tracee->tid, descriptor);
        /* A directory is used by listing it; opening only looks it up. */
        if (uses == USE_READ && !stat(opened, &status) && S_ISDIR(status.st_mode))
            uses = USE_STAT;
    }
    if (target->absent) uses |= USE_MISSING;
    record(target, FOUND, uses, lookup, real);
}

static void record_failure(const struct tracee *tracee, const struct target *target, int error) {
    char lookup[PATH_BYTES], real[PATH_BYTES];
    switch (error) {
        case EINVAL: /* readlink on a file that is no link */
            if (target->uses != USE_READLINK) return;
            break;
        case EAGAIN: case EBADF: case EFAULT: case EINTR: case EMFILE: case ENAMETOOLONG:
        case ENFILE: case ENOMEM: case ENOSYS:
            return; /* nothing was looked up */
        default:
            if (error > 511) return; /* ERESTARTSYS and similar: the call will be repeated */
    }
    if (!resolve(tracee->tgid, tracee->tid, target->path, target->follow, lookup, real))
        return; /* a loop of links, which are now recorded */
    /* The error alone does not tell: with two paths either may be missing, and an existing script
     * may lack its interpreter. */
    record(target, is_absent(real, target->follow) ? ABSENT : REFUSED, 0, lookup, real);
}

void record_outcome(const struct tracee *tracee, const struct target *target, int64_t result) {
    if (result >= 0)
        record_success(tracee, target, (int)result);
    else
        record_failure(tracee, target, (int)-result);
}

/* Whether the file at `path` cannot be opened this way, as the tracer itself could not. Unknown for
 * devices and pipes. */
static bool refuses(const char *path, const struct stat *status, uint64_t flags) {
    bool reads = (flags & O_ACCMODE) != O_WRONLY;
    bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
    if (flags & O_DIRECTORY && !S_ISDIR(status->st_mode)) return true;
    if (flags & O_PATH) return false;
    if (S_ISLNK(status->st_mode) || (S_ISDIR(status->st_mode) && writes)) return true;
    return faccessat(AT_FDCWD, path, (reads ? R_OK : 0) | (writes ? W_OK : 0), AT_EACCESS);
}

void record_foreseen(const struct tracee *tracee, const struct target *target, uint64_t flags) {
    char lookup[PATH_BYTES], real[PATH_BYTES];
    struct stat status;
    const char *path = target->path;
    if (!resolve(tracee->tgid, tracee->tid, path, target->follow, lookup, real)) {
        if (!look(path, target->follow, &status)) record_incomplete("cannot resolve %s", path);
        return; /* a loop of links, which are now recorded */
    }
    int error = look(real, target->follow, &status);
    enum outcome outcome = !error                                ? FOUND
                           : error == ENOENT || error == ENOTDIR ? ABSENT
                                                                 : REFUSED;
    /* Not for `file/` and `file/..`, whose real paths do not show that it is no directory. */
    bool by_directory = strstr(path, "/.") || path[strlen(path) - 1] == '/';
    if (outcome == FOUND && by_directory && is_absent(path, target->follow)) outcome = REFUSED;
    unsigned uses = target->uses;
    if (outcome == FOUND && uses == USE_READLINK && !S_ISLNK(status.st_mode)) outcome = REFUSED;
    if (outcome == FOUND && tracee->call->kind == OPEN) {
        if (refuses(real, &status, flags)) outcome = REFUSED;
        /* A directory is used by listing it; opening only looks it up. */
        if (uses == USE_READ && S_ISDIR(status.st_mode)) uses = USE_STAT;
    }
    record(target, outcome, uses, lookup, real);
}
