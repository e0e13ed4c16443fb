/* SIGTRAP as the program believes it to be: it stays unblocked and the tracer's, while the program
 * sees its own handler, its own mask, and the traps that are its own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "guard.h"

static struct sigaction program_action; /* SIG_DFL at first */
static __thread int trap_blocked, trap_pending;

static void default_trap(void) {
  struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void *restorer;
    unsigned long mask;
  } action = {SIG_DFL, 0, 0, 0};
  syscall(SYS_rt_sigaction, SIGTRAP, &action, NULL, sizeof action.mask);
  unsigned long trap = 1ul << (SIGTRAP - 1);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTRAP);
  syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &trap, NULL, sizeof trap);
}

void foreign_trap(int number, void *info, void *context) {
  int synchronous = ((siginfo_t *)info)->si_code > 0;
  if (!synchronous && trap_blocked) {
    trap_pending = 1;
    return;
  }
  struct sigaction action = program_action;
  if (action.sa_handler == SIG_IGN && !synchronous) return;
  if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL || trap_blocked) {
    default_trap(); /* as the kernel does when a trap is ignored or blocked */
    return;
  }
  if (action.sa_flags & SA_RESETHAND) program_action.sa_handler = SIG_DFL;
  /* All is blocked here; the handler gets the mask that it would have. The masks set here are undone
   * when the signal returns. It may be the first to use a function, so traps stay open in it. */
  unsigned long mask = *(unsigned long *)&((ucontext_t *)context)->uc_sigmask |
                       *(unsigned long *)&action.sa_mask;
  mask &= ~(1ul << (SIGTRAP - 1));
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
  if (action.sa_flags & SA_SIGINFO) action.sa_sigaction(number, info, context);
  else action.sa_handler(number);
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
  REAL(sigaction);
  if (number == SIGTRAP) {
    struct sigaction before = program_action;
    if (action) program_action = *action;
    if (old) *old = before;
    return 0;
  }
  if (!action) return real(number, action, old);
  struct sigaction changed = *action;
  sigdelset(&changed.sa_mask, SIGTRAP); /* a handler may be the first to use a function */
  return real(number, &changed, old);
}

EXPORT sighandler_t signal(int number, sighandler_t handler) {
  REAL(signal);
  if (number != SIGTRAP) return real(number, handler);
  sighandler_t before = program_action.sa_handler;
  program_action = (struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART};
  return before;
}

/* Change a mask as asked, but for SIGTRAP, whose state is only remembered. */
static int change_mask(int (*change)(int, const sigset_t *, sigset_t *), int how,
                       const sigset_t *set, sigset_t *old) {
  sigset_t changed, before;
  if (set) {
    changed = *set;
    sigdelset(&changed, SIGTRAP);
  }
  int result = change(how, set ? &changed : NULL, &before);
  if (result) return result;
  int was_blocked = trap_blocked;
  if (set) {
    int named = sigismember(set, SIGTRAP) == 1;
    if (how == SIG_SETMASK) trap_blocked = named;
    else if (named) trap_blocked = how == SIG_BLOCK;
    if (was_blocked && !trap_blocked && trap_pending) {
      trap_pending = 0;
      syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTRAP);
    }
  }
  if (old) {
    *old = before;
    if (was_blocked) sigaddset(old, SIGTRAP);
  }
  return 0;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  REAL(sigprocmask);
  return change_mask(real, how, set, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
  REAL(pthread_sigmask);
  return change_mask(real, how, set, old);
}
