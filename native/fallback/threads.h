/* Every thread of the program has its signals' frames on a stack of this library's own, and believes to
 * have those that it set by sigaltstack(2). */
#ifndef TRIMTAB_THREADS_H
#define TRIMTAB_THREADS_H

/* Give this thread a stack, and have those that begin from now on given one. */
void begin_threads(void);

/* The number of this thread's stack; 0 without one. */
unsigned own_stack(void);

/* The other threads are not there in a forked child. */
void forget_threads(void);

#endif
