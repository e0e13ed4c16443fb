/* The functions that ours replace, even if the C library is older than the one that this library is
 * linked with: a root has its own. */
#define _GNU_SOURCE
#include "guard.h"

#include <dlfcn.h>
#include <stddef.h>

/* The first version, which every glibc has. Before 2.34 it is in libdl, which programs may lack;
 * the C library then had another one for itself. */
__asm__(".symver any_dlsym, dlsym@GLIBC_2.2.5");
extern void *any_dlsym(void *where, const char *name) __attribute__((weak));
extern void *__libc_dlopen_mode(const char *library, int mode) __attribute__((weak));
extern void *__libc_dlsym(void *library, const char *name) __attribute__((weak));

void *next_function(const char *name) {
  static const char *const libraries[] = {"libc.so.6", "libpthread.so.0"};
  enum { OF_THE_C_LIBRARY = (int)0x80000000 };
  if (any_dlsym) return any_dlsym(RTLD_NEXT, name);
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    void *library = __libc_dlopen_mode(libraries[i], RTLD_LAZY | OF_THE_C_LIBRARY);
    void *function = library ? __libc_dlsym(library, name) : NULL;
    if (function) return function;
  }
  return NULL;
}
