/* trimtab-supervisor CHILD [PIDFD...]
 *
 * A process executes this right after it forked CHILD: it waits for the child, ends as the child
 * does, and kills all of its descendants. It also kills them if one of the processes of the
 * descriptors has ended, or if the child has not ended PATIENCE_MS after a terminating signal,
 * which is passed on to it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "descendants.h"

enum { PATIENCE_MS = 1500, MOST_WATCHED = 64, USAGE = 125 };

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { ENDINGS = sizeof ending / sizeof *ending };

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Terminating signals, unless ignored by the process that started this one; and SIGCHLD. */
static int signals_wanted(void) {
    sigset_t set;
    struct sigaction before;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (int i = 0; i < ENDINGS; i++)
        if (!sigaction(ending[i], NULL, &before) && before.sa_handler != SIG_IGN)
            sigaddset(&set, ending[i]);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigprocmask(SIG_SETMASK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Reap ended processes; returns whether the child is among them, and its status. */
static int reaped(pid_t child, int *status) {
    int ended_as, found = 0;
    for (pid_t pid; (pid = waitpid(-1, &ended_as, WNOHANG | __WALL)) > 0;)
        if (pid == child) *status = ended_as, found = 1;
    return found;
}

/* Pass signals on; returns the first terminating one, or 0. The child gets signals typed at a
 * terminal itself, as it is in the same process group. */
static int pass_on(int signals, pid_t child) {
    struct signalfd_siginfo info;
    int first = 0;
    while (read(signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD) continue;
        if (info.ssi_code != SI_KERNEL) kill(child, (int)info.ssi_signo);
        if (!first) first = (int)info.ssi_signo;
    }
    return first;
}

static int end_as(int status) {
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    const struct rlimit none = {0, 0};
    sigset_t all;
    setrlimit(RLIMIT_CORE, &none); /* the child left its own core */
    signal(WTERMSIG(status), SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    kill(getpid(), WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

int main(int argc, char **argv) {
    struct pollfd watched[1 + MOST_WATCHED];
    pid_t child = argc > 1 ? atoi(argv[1]) : 0;
    int status = 0, signal_given = 0;
    long deadline_ms = 0;
    if (child <= 0 || argc - 2 > MOST_WATCHED) return USAGE;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    watched[0] = (struct pollfd){signals_wanted(), POLLIN, 0};
    if (watched[0].fd < 0) { /* the child's end would not be noticed */
        perror("trimtab-supervisor: signalfd");
        kill_descendants();
        return USAGE;
    }
    for (int i = 2; i < argc; i++) watched[i - 1] = (struct pollfd){atoi(argv[i]), POLLIN, 0};
    for (;;) {
        if (reaped(child, &status)) break;
        int given = pass_on(watched[0].fd, child);
        if (given && !signal_given) signal_given = given, deadline_ms = now_ms() + PATIENCE_MS;
        long left_ms = signal_given ? deadline_ms - now_ms() : -1;
        int gone = 0;
        if (signal_given && left_ms <= 0) gone = signal_given;
        for (int i = 1; i < argc - 1; i++)
            if (watched[i].revents) gone = SIGHUP;
        if (gone) {
            kill_descendants();
            return 128 + gone;
        }
        if (poll(watched, (nfds_t)(argc - 1), (int)left_ms) < 0 && errno != EINTR) return USAGE;
    }
    kill_descendants();
    return end_as(status);
}
