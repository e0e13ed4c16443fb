/* Functions of the C library that are made to jump here: other libraries have bound to it long before
 * this one is loaded. */
#ifndef TRIMTAB_REDIRECT_H
#define TRIMTAB_REDIRECT_H

#include <stddef.h>
#include <stdint.h>

/* Have a function jump to `to`, once redirect() is called. With `original` its first instructions are
 * kept, and what is written there calls the function as it was; where these are not such as can be moved,
 * the function stays as it is. */
void replace_function(const char *name, uintptr_t to, void **original);
void replace_with(const char *name, const char *other);
void redirect(void);

/* Do so in pages that are about to be put back to `place`. */
void redirect_in(uint8_t *pages, const uint8_t *place, size_t bytes);

#endif
