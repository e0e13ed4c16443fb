/* A virtual SIGTRAP for the program: the real one stays unblocked and the tracer's, while the
 * program sees its own handler, its own mask, and its own traps. The kernel's frames for it are on
 * the guard's stacks, as the program's may be too small for them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../signal_stacks/alternate_stack.h"
#include "../signal_stacks/handlers.h"
#include "../signal_stacks/threads.h"
#include "guard.h"

static struct sigaction program_action; /* SIG_DFL at first */
static __thread int trap_blocked, trap_pending;

static void reset(int number) {
  struct kernel_action action = {0}; /* SIG_DFL */
  syscall(SYS_rt_sigaction, number, &action, NULL, sizeof action.mask);
}

static void default_trap(void) {
  reset(SIGTRAP);
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
    default_trap(); /* as the kernel does if a trap is ignored or blocked */
    return;
  }
  if (action.sa_flags & SA_RESETHAND) program_action.sa_handler = SIG_DFL;
  /* All signals are blocked here; the handler gets its usual mask. The masks set here are undone
   * when the signal returns. The handler may be the first to use a function, so traps stay
   * unblocked in it. */
  unsigned long mask = *(unsigned long *)&((ucontext_t *)context)->uc_sigmask |
                       *(unsigned long *)&action.sa_mask;
  mask &= ~(1ul << (SIGTRAP - 1));
  struct kernel_action wanted = {action.sa_sigaction, (unsigned)action.sa_flags, NULL, 0};
  handler_function *handler = NULL;
  if (!deliver(number, info, context, &wanted, mask, &handler)) default_trap();
  else if (handler) handler(number, info, context);
}

/* A signal of the program that asks for the alternate stack, which is the guard's. */
handler_function *on_signal(int number, siginfo_t *info, ucontext_t *context) {
  handler_function *handler = NULL;
  if (forward(number, info, context, &handler)) return handler;
  if (number == SIGSEGV) reset(SIGSEGV);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSEGV); /* as the kernel does without room */
  return NULL;
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
  REAL(sigaction);
  if (number == SIGTRAP) {
    struct sigaction before = program_action;
    if (action) program_action = *action;
    if (old) *old = before;
    return 0;
  }
  struct kernel_action before = handler_of(number);
  struct sigaction changed;
  if (action) {
    changed = *action;
    sigdelset(&changed.sa_mask, SIGTRAP); /* a handler may be the first to use a function */
    struct kernel_action kept = {changed.sa_sigaction, (unsigned)changed.sa_flags, NULL,
                                 *(unsigned long *)&changed.sa_mask};
    if (changed.sa_flags & SA_ONSTACK && changed.sa_handler != SIG_DFL &&
        changed.sa_handler != SIG_IGN && remember_handler(number, &kept))
      changed.sa_sigaction = trimtab_enter;
  }
  int result = real(number, action ? &changed : NULL, old);
  if (!result && old && old->sa_sigaction == trimtab_enter) old->sa_sigaction = before.handler;
  return result;
}

EXPORT sighandler_t signal(int number, sighandler_t handler) {
  REAL(signal);
  if (number != SIGTRAP) {
    struct kernel_action kept = handler_of(number);
    sighandler_t before = real(number, handler);
    int is_kept = (void *)before == (void *)trimtab_enter;
    return is_kept ? (sighandler_t)(void *)kept.handler : before;
  }
  sighandler_t before = program_action.sa_handler;
  program_action = (struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART};
  return before;
}

/* Change a mask as requested, except for SIGTRAP, whose state is only remembered. */
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

EXPORT int sigaltstack(const stack_t *wanted, stack_t *old) {
  return replaced_sigaltstack(wanted, old);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*routine)(void *), void *argument) {
  REAL(pthread_create);
  return create_with_stack(real, thread, attributes, routine, argument);
}

/* The C library's version refuses to leave a stack that the kernel does not know. */
__attribute__((noreturn)) EXPORT void __longjmp_chk(sigjmp_buf from, int value) {
  siglongjmp(from, value);
}
