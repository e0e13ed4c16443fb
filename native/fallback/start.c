/* The beginning: where the environment is, and what is to be done about calls into removed code. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "fallback.h"

/* ROOT/trimtab/libtrimtab-fallback.so, whatever link it was loaded by. */
static void find_environment(void) {
  Dl_info info;
  char path[PATH_MAX];
  if (!dladdr((void *)find_environment, &info) || !realpath(info.dli_fname, path)) return;
  for (int levels = 0; levels < 2; levels++) {
    char *last = strrchr(path, '/');
    if (!last) return;
    *last = 0;
  }
  strcpy(environment_root, path);
}

__attribute__((constructor)) static void start(void) {
  find_environment();
  start_events();
  catch_signals();
}
