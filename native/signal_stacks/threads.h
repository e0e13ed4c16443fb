/* Every thread of the program has its signals' frames on a stack of this library's own, and believes to
 * have those that it set by sigaltstack(2). */
#ifndef TRIMTAB_THREADS_H
#define TRIMTAB_THREADS_H

#include <pthread.h>

/* Give this thread a stack, and return whether it had one of its own. `find` finds functions of the C
 * library, which in a program without threads lacks some before glibc 2.34. */
int begin_threads(void *(*find)(const char *name));

/* As `create`, which is the C library's pthread_create, for a thread that begins with a stack. */
typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int create_with_stack(create_function *create, pthread_t *thread, const pthread_attr_t *attributes,
                      void *(*routine)(void *), void *argument);

/* The number of this thread's stack; 0 without one. */
unsigned own_stack(void);

/* The other threads are not there in a forked child. */
void forget_threads(void);

#endif
