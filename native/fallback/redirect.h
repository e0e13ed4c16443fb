/* Functions of the C library that are made to jump here: other libraries have bound to it long before
 * this one is loaded. */
#ifndef TRIMTAB_REDIRECT_H
#define TRIMTAB_REDIRECT_H

#include <stdint.h>

void *find_function(const char *name);

/* Have a function jump to `to`, once redirect() is called. With `original` its first instructions are
 * kept, and what is written there calls the function as it was; where these are not such as can be moved,
 * the function stays as it is. */
void replace_function(const char *name, uintptr_t to, void **original);
void replace_with(const char *name, const char *other);
void redirect(void);

#endif
