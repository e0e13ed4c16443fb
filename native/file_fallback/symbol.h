/* Functions of the C library and of Python, which are looked up when they are needed: not each program
 * has them. */
#ifndef TRIMTAB_SYMBOL_H
#define TRIMTAB_SYMBOL_H

extern void *dlsym(void *library, const char *name) __attribute__((weak));

#define FUNCTION(type, name, ...) \
  type (*name)(__VA_ARGS__) = dlsym ? (type(*)(__VA_ARGS__))dlsym(NULL, #name) : NULL

#endif
