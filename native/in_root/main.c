/* trimtab-in-root [--workdir FOLDER] [--user UID:GID[,GID]...] [--bind PATH]... [--see PATH]...
 *                 [--errors FD] [--join PID] ROOT -- COMMAND ARGUMENTS...
 *
 * Executes COMMAND with the folder ROOT as its root file system, without an engine. ROOT does not
 * change: in a new mount namespace it is the lower layer of an overlay with an upper layer in
 * memory. Each PATH, and /proc, /sys and a few devices, are the same as outside; those of --see are
 * read-only. All this disappears when the last process in the namespace has ended.
 *
 * COMMAND is looked up in the PATH of the environment, inside, as UID. If a mount namespace alone
 * is refused, as without root, a user namespace is added: our own user is UID. A failure before
 * COMMAND runs is one line on standard error, or on FD, which COMMAND does not get.
 *
 * With --join COMMAND sees the files of process PID, which another trimtab-in-root started: nothing
 * is mounted then, and no PATH added.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "credentials.h"
#include "exit_status.h"
#include "failure.h"
#include "kernel.h"
#include "mounts.h"

static const char usage[] =
    "usage: trimtab-in-root [--workdir FOLDER] [--user UID:GID[,GID]...] [--bind PATH]..."
    " [--see PATH]... [--errors FD] [--join PID] ROOT -- COMMAND ARGUMENTS...";

/* Its content is not visible: the layers are mounted on top of it, in our namespace only. */
#define SCRATCH "/proc"

static struct {
    const char *root, *workdir;
    int joined; /* a process; 0: none */
    const struct credentials *user; /* NULL: unchanged */
    struct held *binds;
    bool *only_seen; /* of the binds */
    size_t bind_count;
    char **command;
} request = {.workdir = "/"};

__attribute__((noreturn)) static void refuse(void) {
    errno = 0;
    fail(CANNOT_ENTER, "%s", usage);
}

static void read_request(int argc, char **argv) {
    static struct credentials user;
    static const struct option options[] = {{"workdir", required_argument, NULL, 'w'},
                                            {"user", required_argument, NULL, 'u'},
                                            {"bind", required_argument, NULL, 'b'},
                                            {"see", required_argument, NULL, 's'},
                                            {"errors", required_argument, NULL, 'e'},
                                            {"join", required_argument, NULL, 'j'},
                                            {NULL, 0, NULL, 0}};
    request.binds = calloc((size_t)argc, sizeof *request.binds);
    request.only_seen = calloc((size_t)argc, sizeof *request.only_seen);
    if (!request.binds || !request.only_seen) fail(CANNOT_ENTER, "trimtab-in-root");
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        if (option == 'w') {
            request.workdir = optarg;
        } else if (option == 'u') {
            if (!read_credentials(optarg, &user)) refuse();
            request.user = &user;
        } else if (option == 'b' || option == 's') {
            if (*optarg != '/') refuse();
            request.only_seen[request.bind_count] = option == 's';
            request.binds[request.bind_count++].path = optarg;
        } else if (option == 'e') {
            int descriptor = atoi(optarg);
            if (fcntl(descriptor, F_SETFD, FD_CLOEXEC)) refuse();
            fail_to(descriptor);
        } else if (option == 'j') {
            request.joined = atoi(optarg);
            if (request.joined <= 0) refuse();
        } else {
            refuse();
        }
    }
    if (argc - optind < 3 || strcmp(argv[optind + 1], "--")) refuse();
    request.root = argv[optind];
    fail_at(request.root);
    request.command = argv + optind + 2;
}

/* The overlay's top has the owner and rights of the upper layer's top. */
static void make_upper(const struct stat *top) {
    if (mkdir(SCRATCH "/upper", 0755) || mkdir(SCRATCH "/work", 0755) ||
        mkdir(SCRATCH "/root", 0755) || chmod(SCRATCH "/upper", top->st_mode & 07777))
        fail(CANNOT_ENTER, "cannot make folders in memory");
    /* In a user namespace the owner may have no number. */
    if (chown(SCRATCH "/upper", top->st_uid, top->st_gid) && errno != EPERM && errno != EINVAL)
        fail(CANNOT_ENTER, "cannot make folders in memory");
}

/* Mount the writable layer over the root, and change to its top. */
static void lay_over(const char *root, bool as_user) {
    struct stat top;
    if (chdir(root) || stat(".", &top)) fail(CANNOT_ENTER, "cannot go there");
    if (mount("trimtab", SCRATCH, "tmpfs", 0, "mode=0755"))
        fail(CANNOT_ENTER, "no memory file system can be mounted");
    make_upper(&top);
    /* In a user namespace the overlay keeps its own marks if it may write them. */
    char layers[256];
    snprintf(layers, sizeof layers, "lowerdir=.,upperdir=%s/upper,workdir=%s/work%s", SCRATCH,
             SCRATCH, as_user ? ",userxattr" : "");
    if (mount("trimtab", SCRATCH "/root", "overlay", 0, layers))
        fail(CANNOT_ENTER, "no overlay can be mounted on it");
    if (chdir(SCRATCH "/root")) fail(CANNOT_ENTER, "cannot go there");
}

/* Make the current folder the root, with nothing of the old root reachable. */
static void make_root(void) {
    if (!syscall(SYS_pivot_root, ".", ".")) {
        if (umount2(".", MNT_DETACH)) fail(CANNOT_ENTER, "cannot leave the former root");
    } else if (chroot(".")) { /* the machine's first root, an initramfs, cannot be left */
        fail(CANNOT_ENTER, "cannot change root");
    }
    if (chdir("/")) fail(CANNOT_ENTER, "cannot enter the new root");
}

__attribute__((noreturn)) static void run(char **command) {
    execvp(command[0], command);
    bool found = errno != ENOENT;
    if (!found && strchr(command[0], '/') && !access(command[0], F_OK)) {
        errno = 0;
        fail(NOT_EXECUTABLE, "command: %s: the interpreter that it names was not found",
             command[0]);
    }
    fail(found ? NOT_EXECUTABLE : NOT_FOUND, "command: %s", command[0]);
}

static int open_of_joined(const char *name, int flags) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", request.joined, name);
    int file = open(path, flags | O_CLOEXEC);
    if (file < 0) fail(CANNOT_ENTER, "cannot open %s", path);
    return file;
}

/* Return whether we are in a user namespace then, where our own user already is the wanted one. */
static bool join(void) {
    int root = open_of_joined("root", O_PATH | O_DIRECTORY), users = open_of_joined("ns/user", O_RDONLY);
    int mounts = open_of_joined("ns/mnt", O_RDONLY);
    struct stat theirs, ours;
    if (fstat(users, &theirs) || stat("/proc/self/ns/user", &ours)) fail(CANNOT_ENTER, "cannot look at namespaces");
    bool as_user = theirs.st_ino != ours.st_ino;
    if ((as_user && setns(users, CLONE_NEWUSER)) || setns(mounts, CLONE_NEWNS))
        fail(CANNOT_ENTER, "cannot join the namespaces of process %d", request.joined);
    if (fchdir(root) || chroot(".")) fail(CANNOT_ENTER, "cannot change root");
    return as_user;
}

static bool enter(void) {
    bool as_user = leave_namespaces(request.user);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        fail(CANNOT_ENTER, "cannot make the mounts of a namespace private (is this in a chroot?)");
    hold_kernel();
    for (size_t i = 0; i < request.bind_count; i++) {
        request.binds[i] = hold(request.binds[i].path);
        if (request.binds[i].tree < 0)
            fail(CANNOT_ENTER, "cannot take %s into it", request.binds[i].path);
        if (request.only_seen[i] && !protect(&request.binds[i]))
            fail(CANNOT_ENTER, "cannot keep %s from being written to", request.binds[i].path);
    }
    lay_over(request.root, as_user);
    make_root();
    show_kernel();
    for (size_t i = 0; i < request.bind_count; i++) show(&request.binds[i]);
    return as_user;
}

int main(int argc, char **argv) {
    read_request(argc, argv);
    mode_t mask = umask(0);
    bool as_user = request.joined ? join() : enter();
    if (request.user && !as_user) become(request.user);
    umask(mask);
    if (chdir(request.workdir)) fail(CANNOT_ENTER, "workdir: %s", request.workdir);
    run(request.command);
}
