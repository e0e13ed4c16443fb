/* sigaltstack(2) as the program sees it, while the kernel has a stack of this library's own. */
#ifndef TRIMTAB_ALTERNATE_STACK_H
#define TRIMTAB_ALTERNATE_STACK_H

#include <signal.h>
#include <stdint.h>

enum { AUTODISARM = (int)(1u << 31) /* SS_AUTODISARM of linux/signal.h */ };

/* The kernel's own; -errno where it failed. */
long kernel_sigaltstack(const stack_t *stack, stack_t *before);

/* In the place of the C library's. */
int replaced_sigaltstack(const stack_t *wanted, stack_t *old);

/* Whether an address is on an alternate stack, as the kernel tells. */
int is_on_stack(const stack_t *stack, uintptr_t address);

#endif
