#define _GNU_SOURCE
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exit_status.h"
#include "failure.h"

/* from linux/mount.h, which conflicts with the header of some C libraries */
enum { TREE_CLONE = 1, TREE_CLOEXEC = O_CLOEXEC, TREE_RECURSIVE = 0x8000, FROM_TREE = 4 };
enum { READ_ONLY = 1 };

#ifndef SYS_mount_setattr /* Linux 5.12 */
#define SYS_mount_setattr 442
#endif

struct held hold(const char *path) {
    int tree = (int)syscall(SYS_open_tree, AT_FDCWD, path,
                            TREE_CLONE | TREE_CLOEXEC | TREE_RECURSIVE);
    return (struct held){path, tree};
}

bool protect(const struct held *held) {
    static const struct { /* struct mount_attr of linux/mount.h */
        uint64_t set, clear, propagation, namespace;
    } read_only = {.set = READ_ONLY};
    return !syscall(SYS_mount_setattr, held->tree, "", AT_EMPTY_PATH | TREE_RECURSIVE, &read_only,
                    sizeof read_only);
}

static void make_one(const char *path) {
    if (!mkdir(path, 0755) || errno == EEXIST) return;
    if (errno == ENOTDIR)
        fail(CANNOT_ENTER,
             "cannot make the folder %s in it, to show what this machine has there, as a file of it"
             " has the name of a folder above: give it other paths here, or move that folder",
             path);
    fail(CANNOT_ENTER, "cannot make the folder %s in it", path);
}

/* Make the parent folders of `path`, which must be absolute. */
static void make_way(const char *path) {
    char above[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof above) {
        errno = ENAMETOOLONG;
        fail(CANNOT_ENTER, "cannot make the folder %s in it", path);
    }
    for (size_t i = 1; i < length; i++) {
        if (path[i] != '/') continue;
        memcpy(above, path, i);
        above[i] = 0;
        make_one(above);
    }
}

void make_folder(const char *path) {
    make_way(path);
    make_one(path);
}

static void make_file(const char *path) {
    make_way(path);
    /* An existing file may be a device, which must not be opened. */
    if (mknod(path, S_IFREG | 0644, 0) && errno != EEXIST)
        fail(CANNOT_ENTER, "cannot make the file %s in it", path);
}

void show(const struct held *held) {
    struct stat status;
    if (fstatat(held->tree, "", &status, AT_EMPTY_PATH))
        fail(CANNOT_ENTER, "cannot look at %s", held->path);
    if (S_ISDIR(status.st_mode))
        make_folder(held->path);
    else
        make_file(held->path);
    if (syscall(SYS_move_mount, held->tree, "", AT_FDCWD, held->path, FROM_TREE))
        fail(CANNOT_ENTER, "cannot show %s in it", held->path);
    close(held->tree);
}
