#define _GNU_SOURCE
#include "threads.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "alternate_stack.h"
#include "stacks.h"

enum { MOST_PARKED = 64, TAKEN = 1 };

static __thread unsigned own __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
/* Before glibc 2.34 libraries of a program without threads lack it. */
static int (*set_specific)(pthread_key_t, const void *);

/* Stacks of threads that are about to end, and use them until then. The C library reuses a thread's
 * memory only after the kernel has ended the thread: a new thread with the same address gets its
 * stack. This saves a system call at the end of each thread. */
static struct {
  uintptr_t thread; /* 0, TAKEN, or its address */
  unsigned stack;
} parked[MOST_PARKED];

unsigned own_stack(void) { return own; }

void forget_threads(void) {
  memset(parked, 0, sizeof parked);
  release_other_stacks(own);
}

static int replace_parked(int place, uintptr_t thread, uintptr_t with) {
  return __atomic_compare_exchange_n(&parked[place].thread, &thread, with, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

static int park(unsigned stack) {
  for (int place = 0; place < MOST_PARKED; place++)
    if (replace_parked(place, 0, TAKEN)) {
      parked[place].stack = stack;
      __atomic_store_n(&parked[place].thread, (uintptr_t)__builtin_thread_pointer(), __ATOMIC_RELEASE);
      return 1;
    }
  return 0;
}

static unsigned find_parked(void) {
  for (int place = 0; place < MOST_PARKED; place++)
    if (replace_parked(place, (uintptr_t)__builtin_thread_pointer(), TAKEN)) {
      unsigned stack = parked[place].stack;
      __atomic_store_n(&parked[place].thread, 0, __ATOMIC_RELEASE);
      return stack;
    }
  return 0;
}

/* Called in each round of destructors, so that other destructors have the stack in all rounds but
 * the last. A later signal has the thread's whole own stack. */
static void end_thread(void *rounds) {
  uintptr_t round = (uintptr_t)rounds;
  if (!own || (round < PTHREAD_DESTRUCTOR_ITERATIONS && !set_specific(key, (void *)(round + 1))))
    return;
  if (park(own)) return;
  stack_t disabled = {.ss_flags = SS_DISABLE}, chosen = thread_on(own)->chosen;
  if (!chosen.ss_size || kernel_sigaltstack(&chosen, NULL))
    if (kernel_sigaltstack(&disabled, NULL)) return; /* the thread ends in a handler on it */
  unsigned number = own;
  own = 0;
  release_stack(number);
}

/* Give a claimed stack to the kernel for this thread, and return the previous one. */
static int take_stack(unsigned number, stack_t *before) {
  stack_t stack = {stack_base(number), 0, STACK_BYTES};
  thread_on(number)->chosen = (stack_t){0};
  if (kernel_sigaltstack(&stack, before)) {
    release_stack(number);
    return 0;
  }
  own = number;
  if (!set_specific || !set_specific(key, (void *)1)) return 1;
  kernel_sigaltstack(before, NULL);
  own = 0;
  release_stack(number);
  return 0;
}

__attribute__((noinline)) static void take_stack_of_thread(unsigned number) {
  stack_t before;
  take_stack(number, &before);
}

/* The program's function is called last, as if there were no other. */
static void *begin_thread(void *argument) {
  unsigned number = (unsigned)(uintptr_t)argument;
  struct thread thread = *thread_on(number);
  unsigned before = find_parked();
  if (before) release_stack(number);
  take_stack_of_thread(before ? before : number);
  return thread.routine(thread.argument);
}

int create_with_stack(create_function *create, pthread_t *thread, const pthread_attr_t *attributes,
                      void *(*routine)(void *), void *argument) {
  int error = errno;
  unsigned number = set_specific ? claim_stack() : 0;
  errno = error;
  if (!number) return create(thread, attributes, routine, argument);
  *thread_on(number) = (struct thread){.routine = routine, .argument = argument};
  int failed = create(thread, attributes, begin_thread, (void *)(uintptr_t)number);
  if (failed) release_stack(number);
  return failed;
}

void begin_threads(void *(*find)(const char *)) {
  stack_t before;
  int (*create)(pthread_key_t *, void (*)(void *)) = find("pthread_key_create");
  if (create && !create(&key, end_thread)) set_specific = find("pthread_setspecific");
  unsigned number = claim_stack();
  if (number && take_stack(number, &before) && !(before.ss_flags & SS_DISABLE))
    thread_on(number)->chosen = before;
}
