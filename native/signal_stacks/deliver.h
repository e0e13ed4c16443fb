/* Deliver signals that this library gets first to the program's handlers. */
#ifndef TRIMTAB_DELIVER_H
#define TRIMTAB_DELIVER_H

#include "entry.h"

/* The layout of rt_sigaction(2). */
struct kernel_action {
  handler_function *handler;
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};

/* In sa_flags: the handler belongs to another slim environment's fallback in the same process,
 * which does not use the program's stack. The kernel ignores it. */
enum { ANOTHER_FALLBACK = 0x8000 };

/* Continue the interrupted context in the program's handler, with `mask` blocked, on the stack that
 * the kernel would have chosen: copy the signal's frame there from this library's stack. If the
 * kernel made the frame on a stack of the program, return the handler, to be called there. Returns
 * 0 if the stack has no room; then nothing was changed. */
int deliver(int number, siginfo_t *info, ucontext_t *context, const struct kernel_action *action,
            unsigned long mask, handler_function **handler);

#endif
