/* Every thread of the program has its signals' frames on a stack of this library, and sees the
 * stacks that it set by sigaltstack(2). */
#ifndef TRIMTAB_THREADS_H
#define TRIMTAB_THREADS_H

#include <pthread.h>

/* Give this thread a stack. `find` finds functions of the C library, some of which a program without
 * threads lacks before glibc 2.34. */
void begin_threads(void *(*find)(const char *name));

/* As `create`, the C library's pthread_create, for a thread that begins with a stack. */
typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int create_with_stack(create_function *create, pthread_t *thread, const pthread_attr_t *attributes,
                      void *(*routine)(void *), void *argument);

/* The number of this thread's stack; 0 without one. */
unsigned own_stack(void);

/* A forked child does not have the other threads. */
void forget_threads(void);

#endif
