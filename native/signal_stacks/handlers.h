/* The program's handlers that ask for its alternate stack. */
#ifndef TRIMTAB_HANDLERS_H
#define TRIMTAB_HANDLERS_H

#include "deliver.h"

/* Keep what a signal is to be handled by; 0 where there is no room for it. Signal handlers may call it. */
int remember_handler(int number, const struct kernel_action *action);

/* The last that was kept, also once the signal is handled otherwise: one may be on its way. Its handler is
 * NULL where none was. */
struct kernel_action handler_of(int number);

/* Deliver such a signal to its handler, as deliver() does. */
int forward(int number, siginfo_t *info, ucontext_t *context, handler_function **handler);

#endif
