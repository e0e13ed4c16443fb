/* What gcc's thread sanitizer is told of OpenMP's order, which it does not see, as libgomp is not
 * instrumented: a task comes after its creation and after those that ended before with one of its
 * blocks, and what follows a wait after all tasks. Nothing in an ordinary build.
 *
 * So a wrong `depend` is seen where two tasks overlap in time, not where chance kept them apart;
 * what calls, enclaves and records share between threads is seen in any case. */
#ifndef TRIMTAB_HAPPENS_BEFORE_H
#define TRIMTAB_HAPPENS_BEFORE_H

#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define HAPPENS_AFTER(address) __tsan_acquire((void *)(address))
#define HAPPENS_BEFORE(address) __tsan_release((void *)(address))
#else
#define HAPPENS_AFTER(address) ((void)(address))
#define HAPPENS_BEFORE(address) ((void)(address))
#endif

#endif
