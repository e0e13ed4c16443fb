/* Tell gcc's thread sanitizer about OpenMP's order, which it does not see, as libgomp is not
 * instrumented. A task follows its creation and the ended tasks with one of its blocks; code after
 * a wait follows all tasks. Does nothing in an ordinary build.
 *
 * So a wrong `depend` is only found if two tasks overlap in time. Data that calls, enclaves and
 * records share between threads is always checked. */
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
