/* What gcc's thread sanitizer is told of OpenMP's order, as libgomp is not instrumented: a task
 * comes after those that it depends on by a block. Nothing in an ordinary build. */
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
