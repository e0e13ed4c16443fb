/* This library's stacks for signals: one for every thread of the program, given to the kernel in
 * place of the program's own (sigaltstack(2)). */
#ifndef TRIMTAB_STACKS_H
#define TRIMTAB_STACKS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* Restoring takes less than 16 KiB and the kernel's frame at most 12 (with AMX), both twice if
 * restoring itself misses something. Only used pages take memory. */
enum { STACK_BYTES = 1 << 16 };

struct thread {
  stack_t chosen; /* what the program set by sigaltstack(2) */
  void *(*routine)(void *);
  void *argument; /* for the thread's function */
};

/* Claim a stack for a thread, and return its number; 0 if there is no memory. It takes no lock, and
 * makes a system call only for one new stack in 16. */
unsigned claim_stack(void);
void release_stack(unsigned number);
void release_other_stacks(unsigned number);

/* The number of the stack with an address; 0 if there is none. */
unsigned stack_at(uintptr_t address);
uint8_t *stack_base(unsigned number);
struct thread *thread_on(unsigned number);

#endif
