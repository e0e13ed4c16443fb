#define _GNU_SOURCE
#include "alternate_stack.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "../kernel_call/kernel_call.h"
#include "stacks.h"

enum { SMALLEST = 2048 /* MINSIGSTKSZ of the kernel */ };

long kernel_sigaltstack(const stack_t *stack, stack_t *before) {
  return kernel(SYS_sigaltstack, (long)stack, (long)before, 0, 0, 0, 0);
}

int is_on_stack(const stack_t *stack, uintptr_t address) {
  uintptr_t low = (uintptr_t)stack->ss_sp;
  return !(stack->ss_flags & AUTODISARM) && address > low && address - low <= stack->ss_size;
}

static int refuse_with(int error) {
  errno = error;
  return -1;
}

/* As do_sigaltstack() of the kernel's kernel/signal.c. */
static int choose_stack(stack_t *chosen, const stack_t *wanted, uintptr_t at) {
  int mode = wanted->ss_flags & ~AUTODISARM;
  if (is_on_stack(chosen, at)) return refuse_with(EPERM);
  if (mode != SS_DISABLE && mode != SS_ONSTACK && mode != 0) return refuse_with(EINVAL);
  if (mode != SS_DISABLE && wanted->ss_size < SMALLEST) return refuse_with(ENOMEM);
  *chosen = mode == SS_DISABLE ? (stack_t){0} : *wanted;
  return 0;
}

/* Asks the kernel whether this thread has a stack of ours: a thread made by clone(2) may share this
 * library's variables with another. */
int replaced_sigaltstack(const stack_t *wanted, stack_t *old) {
  stack_t now = {0};
  uintptr_t at = (uintptr_t)__builtin_frame_address(0);
  long result = kernel_sigaltstack(NULL, &now);
  unsigned number = result ? 0 : stack_at((uintptr_t)now.ss_sp);
  if (!number) {
    result = kernel_sigaltstack(wanted, old);
    return result ? refuse_with((int)-result) : 0;
  }
  stack_t *chosen = &thread_on(number)->chosen, before = *chosen;
  if (wanted && choose_stack(chosen, wanted, at)) return -1;
  if (!old) return 0;
  *old = before;
  if (!before.ss_size) old->ss_flags |= SS_DISABLE;
  else if (is_on_stack(&before, at)) old->ss_flags |= SS_ONSTACK;
  else old->ss_flags &= ~SS_ONSTACK;
  return 0;
}
