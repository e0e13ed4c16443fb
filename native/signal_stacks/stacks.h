/* Stacks of this library's own for signals: one for every thread of the program, which the kernel is
 * given in place of what the program says by sigaltstack(2). */
#ifndef TRIMTAB_STACKS_H
#define TRIMTAB_STACKS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* A restoring takes less than 16 KiB and the kernel's frame at most 12 (with AMX), twice where
 * restoring itself misses something. Only pages that are used take memory. */
enum { STACK_BYTES = 1 << 16 };

struct thread {
  stack_t chosen; /* what the program set by sigaltstack(2) */
  void *(*routine)(void *);
  void *argument; /* with which the thread begins */
};

/* Claim a stack for a thread, and return its number; 0 where there is no memory for one. It takes no
 * lock, and makes no system call but for one new stack in 16. */
unsigned claim_stack(void);
void release_stack(unsigned number);
void release_other_stacks(unsigned number);

/* The number of the stack that an address lies in; 0 without one. */
unsigned stack_at(uintptr_t address);
uint8_t *stack_base(unsigned number);
struct thread *thread_on(unsigned number);

#endif
