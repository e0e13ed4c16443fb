#include "calls.h"

#include <sys/syscall.h>

#include "record.h"

#define PATH(argument) {0, (argument) + 1}
#define AT(argument, path) {(argument) + 1, (path) + 1}
#define FLAGS(argument) .flags = (argument) + 1
#define UNFOLLOWED .no_follow = true

#define LOOKS(use, ...) {LOOK_UP, .uses = USE_##use, .paths = {__VA_ARGS__}}
#define LOOKS_FLAGS(use, argument, ...) \
    {LOOK_UP, .uses = USE_##use, FLAGS(argument), .paths = {__VA_ARGS__}}
#define LOOKS_LINK(use, ...) {LOOK_UP, .uses = USE_##use, UNFOLLOWED, .paths = {__VA_ARGS__}}
#define MAKES(which, ...) \
    {LOOK_UP, .uses = USE_WRITE, .creates = which, UNFOLLOWED, .paths = {__VA_ARGS__}}

const struct call calls[] = {
    [SYS_open] = {OPEN, FLAGS(1), .paths = {PATH(0)}},
    [SYS_openat] = {OPEN, FLAGS(2), .paths = {AT(0, 1)}},
    [SYS_openat2] = {OPEN, .paths = {AT(0, 1)}}, /* flags are in a structure */
    [SYS_creat] = {OPEN, .paths = {PATH(0)}},
    [SYS_execve] = {EXECUTE, .paths = {PATH(0)}},
    [SYS_execveat] = {EXECUTE, FLAGS(4), .paths = {AT(0, 1)}},
    [SYS_mmap] = {MAP},
    [SYS_getdents] = {LIST},
    [SYS_getdents64] = {LIST},

    [SYS_stat] = LOOKS(STAT, PATH(0)),
    [SYS_lstat] = LOOKS_LINK(STAT, PATH(0)),
    [SYS_newfstatat] = LOOKS_FLAGS(STAT, 3, AT(0, 1)),
    [SYS_statx] = LOOKS_FLAGS(STAT, 2, AT(0, 1)),
    [SYS_access] = LOOKS(STAT, PATH(0)),
    [SYS_faccessat] = LOOKS(STAT, AT(0, 1)),
    [SYS_faccessat2] = LOOKS_FLAGS(STAT, 3, AT(0, 1)),
    [SYS_chdir] = LOOKS(STAT, PATH(0)),
    [SYS_statfs] = LOOKS(STAT, PATH(0)),
    [SYS_inotify_add_watch] = LOOKS(STAT, PATH(1)),
    [SYS_getxattr] = LOOKS(STAT, PATH(0)),
    [SYS_lgetxattr] = LOOKS_LINK(STAT, PATH(0)),
    [SYS_listxattr] = LOOKS(STAT, PATH(0)),
    [SYS_llistxattr] = LOOKS_LINK(STAT, PATH(0)),
    [SYS_readlink] = LOOKS_LINK(READLINK, PATH(0)),
    [SYS_readlinkat] = LOOKS_LINK(READLINK, AT(0, 1)),

    [SYS_truncate] = LOOKS(WRITE, PATH(0)),
    [SYS_chmod] = LOOKS(WRITE, PATH(0)),
    [SYS_fchmodat] = LOOKS(WRITE, AT(0, 1)),
    [SYS_chown] = LOOKS(WRITE, PATH(0)),
    [SYS_lchown] = LOOKS_LINK(WRITE, PATH(0)),
    [SYS_fchownat] = LOOKS_FLAGS(WRITE, 4, AT(0, 1)),
    [SYS_utime] = LOOKS(WRITE, PATH(0)),
    [SYS_utimes] = LOOKS(WRITE, PATH(0)),
    [SYS_futimesat] = LOOKS(WRITE, AT(0, 1)),
    [SYS_utimensat] = LOOKS_FLAGS(WRITE, 3, AT(0, 1)),
    [SYS_setxattr] = LOOKS(WRITE, PATH(0)),
    [SYS_lsetxattr] = LOOKS_LINK(WRITE, PATH(0)),
    [SYS_removexattr] = LOOKS(WRITE, PATH(0)),
    [SYS_lremovexattr] = LOOKS_LINK(WRITE, PATH(0)),
    [SYS_unlink] = LOOKS_LINK(WRITE, PATH(0)),
    [SYS_unlinkat] = LOOKS_LINK(WRITE, AT(0, 1)),
    [SYS_rmdir] = LOOKS_LINK(WRITE, PATH(0)),
    [SYS_mkdir] = MAKES(1, PATH(0)),
    [SYS_mkdirat] = MAKES(1, AT(0, 1)),
    [SYS_mknod] = MAKES(1, PATH(0)),
    [SYS_mknodat] = MAKES(1, AT(0, 1)),
    [SYS_symlink] = MAKES(1, PATH(1)),
    [SYS_symlinkat] = MAKES(1, AT(1, 2)),
    [SYS_link] = MAKES(2, PATH(0), PATH(1)),
    [SYS_linkat] = {LOOK_UP, USE_WRITE, {AT(0, 1), AT(2, 3)}, FLAGS(4), .creates = 2, UNFOLLOWED},
    [SYS_rename] = MAKES(2, PATH(0), PATH(1)),
    [SYS_renameat] = MAKES(2, AT(0, 1), AT(2, 3)),
    [SYS_renameat2] = MAKES(2, AT(0, 1), AT(2, 3)),

    /* Newer than the oldest supported headers; the numbers are Linux's own. */
    [452 /* fchmodat2 */] = LOOKS_FLAGS(WRITE, 3, AT(0, 1)),
    [463 /* setxattrat */] = LOOKS_FLAGS(WRITE, 2, AT(0, 1)),
    [464 /* getxattrat */] = LOOKS_FLAGS(STAT, 2, AT(0, 1)),
    [465 /* listxattrat */] = LOOKS_FLAGS(STAT, 2, AT(0, 1)),
    [466 /* removexattrat */] = LOOKS_FLAGS(WRITE, 2, AT(0, 1)),

    [SYS_chroot] = {NOTE, .name = "changed its root directory"},
    [SYS_pivot_root] = {NOTE, .name = "changed its root directory"},
    [SYS_setns] = {NOTE, .name = "entered another namespace"},
    [SYS_unshare] = {NOTE, .name = "made a mount namespace of its own"},
    [SYS_mount] = {NOTE, .name = "mounted a file system"},
    [SYS_open_by_handle_at] = {NOTE, .name = "opened a file by handle"},
    [SYS_ptrace] = {NOTE, .name = "called ptrace, which cannot work while its files are traced"},
};

const size_t call_count = sizeof calls / sizeof *calls;

const struct call *call_of(unsigned long long number) {
    return number < call_count && calls[number].kind != NOT_TRACED ? &calls[number] : NULL;
}

bool is_foreseeable(const struct call *call) {
    switch (call->kind) {
        case MAP: case LIST: return true;
        case OPEN: return call->flags;
        case LOOK_UP: return call->uses == USE_STAT || call->uses == USE_READLINK;
        default: return false;
    }
}
