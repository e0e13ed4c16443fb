#include "descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 10000, ROUND_NS = 1000000 }; /* ten seconds: processes stuck in the kernel stay */

/* The parent of a process from /proc/PID/stat, or -1 if it is gone. */
static pid_t parent_of(const char *pid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return -1;
    text[length] = 0;
    /* The name before may contain brackets and spaces, and has at most 64 bytes. */
    const char *end = strrchr(text, ')');
    char state;
    int parent;
    return end && sscanf(end + 1, " %c %d", &state, &parent) == 2 ? parent : -1;
}

/* Only children: their numbers are not reused until they are reaped. Their orphans become this
 * process's children, and are found in the next round. */
static void kill_children(void) {
    DIR *processes = opendir("/proc");
    if (!processes) return;
    for (struct dirent *entry; (entry = readdir(processes));)
        if (isdigit((unsigned char)*entry->d_name) && parent_of(entry->d_name) == getpid())
            kill(atoi(entry->d_name), SIGKILL);
    closedir(processes);
}

void kill_descendants(void) {
    const struct timespec pause = {0, ROUND_NS};
    for (int round = 0; round < ROUNDS; round++) {
        kill_children();
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG | __WALL)) > 0) continue;
        if (ended < 0 && errno == ECHILD) return;
        nanosleep(&pause, NULL);
    }
}
