#define _GNU_SOURCE
#include "processes.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "../file_fallback/system.h"

enum { FROM_KERNEL = 0x80, BY_SIGNAL = 128, ROUNDS = 10000, ROUND_NS = 1000000, LIST_BYTES = 4096 };

/* The kernel's layout. */
struct action {
  void *handler;
  unsigned long flags;
  void *restorer;
  unsigned long mask;
};

unsigned long hold_signals(void) {
  unsigned long all = ~0ul, before = 0;
  KERNEL(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  return before;
}

/* Children leave no status if SIGCHLD is ignored. */
long open_signals(void) {
  unsigned long all = ~0ul;
  struct action ordinary = {0};
  KERNEL(__NR_rt_sigaction, SIGCHLD, &ordinary, NULL, sizeof all);
  return KERNEL(__NR_signalfd4, -1, &all, sizeof all, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A shell only notices that its job is stopped if the process that it started stops. */
static void stop_with(int signal) {
  if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
    KERNEL(__NR_kill, KERNEL(__NR_getpid, 0, 0, 0, 0), SIGSTOP, 0, 0);
}

int take_signals(long signals, long program, int *status) {
  struct signalfd_siginfo signal;
  int now, ended = 0;
  while (KERNEL(__NR_read, signals, &signal, sizeof signal, 0) == sizeof signal) {
    if (signal.ssi_signo == SIGCHLD) continue;
    /* A terminal's signals reach the program too, which is in the same group. */
    if (signal.ssi_code != FROM_KERNEL) KERNEL(__NR_kill, program, signal.ssi_signo, 0, 0);
  }
  for (;;) {
    long child = KERNEL(__NR_wait4, -1, &now, WNOHANG | WUNTRACED, NULL);
    if (child == -ECHILD && !ended) *status = 0; /* if that is ignored, there is none */
    if (child <= 0) return ended || child == -ECHILD;
    if (child != program) continue;
    if (WIFSTOPPED(now)) stop_with(WSTOPSIG(now));
    else ended = 1, *status = now;
  }
}

/* A child's orphans become our children, and are in the next list. */
static void kill_children(void) {
  static char list[LIST_BYTES];
  char name[64];
  struct text text = text_in(name, sizeof name);
  put(&text, "/proc/self/task/");
  put_number(&text, (uint64_t)KERNEL(__NR_getpid, 0, 0, 0, 0), 1);
  put(&text, "/children");
  long file = open_path(AT_FDCWD, name, O_RDONLY, 0);
  if (file < 0) return;
  long got = KERNEL(__NR_read, file, list, sizeof list - 1, 0), number = 0;
  close_file(file);
  for (long at = 0; at < got; at++) { /* each followed by a space */
    if (list[at] >= '0' && list[at] <= '9') number = number * 10 + (list[at] - '0');
    else if (number) KERNEL(__NR_kill, number, SIGKILL, 0, 0), number = 0;
  }
}

void end_all(void) {
  const struct timespec pause = {0, ROUND_NS};
  for (int round = 0; round < ROUNDS; round++) {
    long ended;
    kill_children();
    while ((ended = KERNEL(__NR_wait4, -1, NULL, WNOHANG | __WALL, NULL)) > 0) continue;
    if (ended == -ECHILD) return;
    KERNEL(__NR_nanosleep, &pause, NULL, 0, 0);
  }
}

__attribute__((noreturn)) void end_as(int status) {
  const struct rlimit none = {0, 0};
  unsigned long only = ~0ul;
  struct action ordinary = {0};
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    KERNEL(__NR_prlimit64, 0, RLIMIT_CORE, &none, NULL); /* the program left its own core */
    KERNEL(__NR_rt_sigaction, signal, &ordinary, NULL, sizeof only);
    KERNEL(__NR_kill, KERNEL(__NR_getpid, 0, 0, 0, 0), signal, 0, 0);
    only &= ~(1ul << (signal - 1));
    KERNEL(__NR_rt_sigprocmask, SIG_SETMASK, &only, NULL, sizeof only);
    status = BY_SIGNAL + signal; /* the first process of a container ignores its own signal */
  } else status = WEXITSTATUS(status);
  for (;;) KERNEL(__NR_exit_group, status, 0, 0, 0);
}
