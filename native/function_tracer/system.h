/* System calls and memory functions for code without a C library: the loader separates an audit
 * library from the program, and a second C library there would use thread-local storage. */
#ifndef TRIMTAB_SYSTEM_H
#define TRIMTAB_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "../kernel_call/kernel_call.h"

#define SYSTEM_CALL(number, a, b, c, d, e, f) \
  kernel(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static inline int failed(const void *address) { return (uintptr_t)address > (uintptr_t)-4096; }

void *memory_map(size_t length, int protection, int flags, int file);
int text_equal(const char *a, const char *b);
const char *base_name(const char *path);
/* Append text or a number to a bounded string; returns the new end. */
char *append_text(char *end, const char *limit, const char *text);
char *append_number(char *end, const char *limit, uint64_t number);
uint64_t now_ns(void);
/* Copy the value of an environment variable at the start of the process. */
int initial_environment(const char *name, char *value, size_t value_bytes);

#endif
