/* The program's handlers that ask for its alternate stack. */
#ifndef TRIMTAB_HANDLERS_H
#define TRIMTAB_HANDLERS_H

#include "deliver.h"

/* Store the handler of a signal; returns 0 if there is no room. Signal handlers may call it. */
int remember_handler(int number, const struct kernel_action *action);

/* The last stored handler, even if the signal is now handled otherwise: a signal may be on its way.
 * Its handler is NULL if there was none. */
struct kernel_action handler_of(int number);

/* Deliver such a signal to its handler, as deliver() does. */
int forward(int number, siginfo_t *info, ucontext_t *context, handler_function **handler);

#endif
