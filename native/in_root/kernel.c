#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit_status.h"
#include "failure.h"
#include "mounts.h"

/* The machine's disks are not among them: root inside is also root outside. */
static const char *const ordinary[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                       "/dev/random", "/dev/urandom", "/dev/tty"};
static const char gpus[] = "/dev/nvidia*";

static const char *const links[][2] = {{"/proc/self/fd", "/dev/fd"},
                                       {"/proc/self/fd/0", "/dev/stdin"},
                                       {"/proc/self/fd/1", "/dev/stdout"},
                                       {"/proc/self/fd/2", "/dev/stderr"},
                                       {"pts/ptmx", "/dev/ptmx"}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct held proc, sys, *devices;
static size_t device_count;

static void hold_device(const char *path) {
    struct held held = hold(path);
    if (held.tree >= 0) devices[device_count++] = held;
}

void hold_kernel(void) {
    static glob_t found; /* its paths are kept */
    proc = hold("/proc");
    sys = hold("/sys");
    if (proc.tree < 0) fail(CANNOT_ENTER, "cannot take /proc into it");
    glob(gpus, GLOB_NOSORT, NULL, &found);
    devices = calloc(COUNT(ordinary) + found.gl_pathc, sizeof *devices);
    if (!devices) fail(CANNOT_ENTER, "cannot enter it");
    for (size_t i = 0; i < COUNT(ordinary); i++) hold_device(ordinary[i]);
    for (size_t i = 0; i < found.gl_pathc; i++) hold_device(found.gl_pathv[i]);
}

/* Separate terminals; older kernels refuse them in a user namespace without a user 0. */
static void make_terminals(void) {
    make_folder("/dev/pts");
    if (mount("trimtab", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,mode=0620,ptmxmode=0666") && errno != EINVAL)
        fail(CANNOT_ENTER, "cannot make terminals for it");
}

void show_kernel(void) {
    show(&proc);
    if (sys.tree >= 0) show(&sys);
    make_folder("/dev");
    if (mount("trimtab", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755"))
        fail(CANNOT_ENTER, "cannot make a /dev for it");
    for (size_t i = 0; i < device_count; i++) show(&devices[i]);
    for (size_t i = 0; i < COUNT(links); i++)
        if (symlink(links[i][0], links[i][1])) fail(CANNOT_ENTER, "cannot make %s", links[i][1]);
    make_terminals();
    if (mkdir("/dev/shm", 0777) || chmod("/dev/shm", 01777))
        fail(CANNOT_ENTER, "cannot make /dev/shm for it");
}
