/* The program's handlers for signals that the kernel brings to this library first. */
#ifndef TRIMTAB_DELIVER_H
#define TRIMTAB_DELIVER_H

#include "entry.h"

/* As rt_sigaction(2) has it. */
struct kernel_action {
  handler_function *handler;
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};

/* Among sa_flags: the handler is that of another slim environment's fallback in the same process, which
 * needs nothing of the program's stack. The kernel takes no notice of it. */
enum { ANOTHER_FALLBACK = 0x8000 };

/* Have the interrupted context go on in the program's handler, with `mask` blocked, on the stack that
 * the kernel would have chosen: the frame of the signal, which lies on this library's stack, is copied
 * there. Where the kernel made the frame on a stack of the program, the handler is returned, to be called
 * there. Returns 0 where the stack has no room; then nothing was changed. */
int deliver(int number, siginfo_t *info, ucontext_t *context, const struct kernel_action *action,
            unsigned long mask, handler_function **handler);

#endif
