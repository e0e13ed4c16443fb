/* sigaltstack(2) as the program sees it, while the kernel uses this library's stacks. */
#ifndef TRIMTAB_ALTERNATE_STACK_H
#define TRIMTAB_ALTERNATE_STACK_H

#include <signal.h>
#include <stdint.h>

enum { AUTODISARM = (int)(1u << 31) /* SS_AUTODISARM of linux/signal.h */ };

/* The kernel's call; -errno if it failed. */
long kernel_sigaltstack(const stack_t *stack, stack_t *before);

/* Replaces the C library's. */
int replaced_sigaltstack(const stack_t *wanted, stack_t *old);

/* Whether an address is on an alternate stack, by the kernel's rule. */
int is_on_stack(const stack_t *stack, uintptr_t address);

#endif
