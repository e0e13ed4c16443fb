/* Let functions of the C library jump here: other libraries were bound to them long before this one
 * is loaded. */
#ifndef TRIMTAB_REDIRECT_H
#define TRIMTAB_REDIRECT_H

#include <stdint.h>

void *find_function(const char *name);

/* Let a function jump to `to`, once redirect() is called. With `original` its first instructions
 * are kept, and the address written there calls the original function. If they cannot be moved, the
 * function does not change. */
void replace_function(const char *name, uintptr_t to, void **original);
void replace_with(const char *name, const char *other);
void redirect(void);

#endif
