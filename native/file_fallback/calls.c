#define _GNU_SOURCE
#include "calls.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <stddef.h>

#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif

#define NONE {-1, -1}
#define PATH(at) {at, -1}
#define IN_FOLDER(at) {at, (at)-1}
#define ROW(name, ...) {__NR_##name, __VA_ARGS__}

static const struct call calls[] = {
    ROW(open, 0, PATH(0), NONE, 1, O_NOFOLLOW),
    ROW(openat, 0, IN_FOLDER(1), NONE, 2, O_NOFOLLOW),
    ROW(openat2, 0, IN_FOLDER(1), NONE, -1, 0),
    ROW(creat, MAKES, PATH(0), NONE, -1, 0),
    ROW(stat, LOOKS, PATH(0), NONE, -1, 0),
    ROW(lstat, LOOKS | NOT_FOLLOWED, PATH(0), NONE, -1, 0),
    ROW(newfstatat, LOOKS, IN_FOLDER(1), NONE, 3, AT_SYMLINK_NOFOLLOW),
    ROW(statx, LOOKS, IN_FOLDER(1), NONE, 2, AT_SYMLINK_NOFOLLOW),
    ROW(access, LOOKS, PATH(0), NONE, -1, 0),
    ROW(faccessat, LOOKS, IN_FOLDER(1), NONE, -1, 0),
    ROW(faccessat2, LOOKS, IN_FOLDER(1), NONE, 3, AT_SYMLINK_NOFOLLOW),
    ROW(readlink, LOOKS | NOT_FOLLOWED, PATH(0), NONE, -1, 0),
    ROW(readlinkat, LOOKS | NOT_FOLLOWED, IN_FOLDER(1), NONE, -1, 0),
    ROW(execve, EXECUTES, PATH(0), NONE, -1, 0),
    ROW(execveat, EXECUTES, IN_FOLDER(1), NONE, 4, AT_SYMLINK_NOFOLLOW),
    ROW(chdir, 0, PATH(0), NONE, -1, 0),
    ROW(chroot, 0, PATH(0), NONE, -1, 0),
    ROW(truncate, 0, PATH(0), NONE, -1, 0),
    ROW(statfs, 0, PATH(0), NONE, -1, 0),
    ROW(chmod, 0, PATH(0), NONE, -1, 0),
    ROW(fchmodat, 0, IN_FOLDER(1), NONE, -1, 0),
    ROW(fchmodat2, 0, IN_FOLDER(1), NONE, 3, AT_SYMLINK_NOFOLLOW),
    ROW(chown, 0, PATH(0), NONE, -1, 0),
    ROW(lchown, NOT_FOLLOWED, PATH(0), NONE, -1, 0),
    ROW(fchownat, 0, IN_FOLDER(1), NONE, 4, AT_SYMLINK_NOFOLLOW),
    ROW(utime, 0, PATH(0), NONE, -1, 0),
    ROW(utimes, 0, PATH(0), NONE, -1, 0),
    ROW(futimesat, 0, IN_FOLDER(1), NONE, -1, 0),
    ROW(utimensat, 0, IN_FOLDER(1), NONE, 3, AT_SYMLINK_NOFOLLOW),
    ROW(setxattr, 0, PATH(0), NONE, -1, 0),
    ROW(lsetxattr, NOT_FOLLOWED, PATH(0), NONE, -1, 0),
    ROW(getxattr, LOOKS, PATH(0), NONE, -1, 0),
    ROW(lgetxattr, LOOKS | NOT_FOLLOWED, PATH(0), NONE, -1, 0),
    ROW(listxattr, LOOKS, PATH(0), NONE, -1, 0),
    ROW(llistxattr, LOOKS | NOT_FOLLOWED, PATH(0), NONE, -1, 0),
    ROW(removexattr, 0, PATH(0), NONE, -1, 0),
    ROW(lremovexattr, NOT_FOLLOWED, PATH(0), NONE, -1, 0),
    ROW(inotify_add_watch, 0, PATH(1), NONE, -1, 0),
    ROW(name_to_handle_at, 0, IN_FOLDER(1), NONE, -1, 0),
    ROW(mkdir, MAKES | NOT_FOLLOWED, PATH(0), NONE, -1, 0),
    ROW(mkdirat, MAKES | NOT_FOLLOWED, IN_FOLDER(1), NONE, -1, 0),
    ROW(mknod, MAKES | NOT_FOLLOWED, PATH(0), NONE, -1, 0),
    ROW(mknodat, MAKES | NOT_FOLLOWED, IN_FOLDER(1), NONE, -1, 0),
    ROW(symlink, MAKES | NOT_FOLLOWED, PATH(1), NONE, -1, 0),
    ROW(symlinkat, MAKES | NOT_FOLLOWED, IN_FOLDER(2), NONE, -1, 0),
    ROW(link, MAKES | NOT_FOLLOWED, PATH(0), PATH(1), -1, 0),
    ROW(linkat, MAKES | NOT_FOLLOWED, IN_FOLDER(1), IN_FOLDER(3), -1, 0),
    ROW(unlink, REMOVES | NOT_FOLLOWED, PATH(0), NONE, -1, 0),
    ROW(unlinkat, REMOVES | NOT_FOLLOWED, IN_FOLDER(1), NONE, -1, 0),
    ROW(rmdir, REMOVES | NOT_FOLLOWED, PATH(0), NONE, -1, 0),
    ROW(rename, MAKES | REMOVES | NOT_FOLLOWED, PATH(0), PATH(1), -1, 0),
    ROW(renameat, MAKES | REMOVES | NOT_FOLLOWED, IN_FOLDER(1), IN_FOLDER(3), -1, 0),
    ROW(renameat2, MAKES | REMOVES | NOT_FOLLOWED, IN_FOLDER(1), IN_FOLDER(3), -1, 0),
};

enum { MOST = 512 };
static uint8_t row_of[MOST]; /* plus 1 */

__attribute__((constructor(101))) static void sort_calls(void) {
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) row_of[calls[i].number] = (uint8_t)(i + 1);
}

GENERAL const struct call *call_of(long number) {
  return number >= 0 && number < MOST && row_of[number] ? calls + row_of[number] - 1 : NULL;
}
