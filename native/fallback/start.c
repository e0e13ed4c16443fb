/* A library loaded into the programs of a slim environment. Pages of libraries that no traced run
 * needed are not in their files: they are holes, or traps (0xCC) if the file keeps its size. A
 * program faults if it calls code there, or reads GPU code there as the CUDA driver does. The
 * handler restores the original's page, and the program continues as in the original. The rest
 * depends on TRIMTAB_FALLBACK:
 *   restore  (the default) it is recorded
 *   strict   it is recorded, and the process ends with a message and status 70
 *   report   only the number of such events is recorded, at the process's end
 * It runs in the middle of any code: no allocation, and only calls that signal handlers may make. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../original_identity/original_identity.h"
#include "events.h"
#include "give_up.h"
#include "loaded.h"
#include "mapped.h"
#include "memory.h"
#include "original.h"
#include "place.h"
#include "sidecar.h"
#include "signals.h"

/* Loading all GPU code at the start would restore everything that was removed. */
static void load_gpu_code_when_needed(void) {
  static char mark[PATH_MAX + sizeof GPU_CODE_REMOVED + 1];
  const char *loading = getenv("CUDA_MODULE_LOADING");
  snprintf(mark, sizeof mark, "%s/" GPU_CODE_REMOVED, environment_root);
  if (loading && !strcmp(loading, "EAGER") && access(mark, F_OK) == 0)
    setenv("CUDA_MODULE_LOADING", "LAZY", 1);
}

/* If files were removed, the library that restores them does this. */
static void check_original_alone(void) {
  char index[PATH_MAX + 32];
  const char *store = getenv("TRIMTAB_STORE");
  snprintf(index, sizeof index, "%s/trimtab/files.index", environment_root);
  if (environment_known && !(store && *store) && !getenv(TOLD_VARIABLE) && access(index, F_OK))
    check_original(environment_root);
}

__attribute__((constructor)) static void start(void) {
  find_environment();
  if (environment_known && !*environment_root) keep_log();
  check_original_alone();
  learn_linker();
  keep_reserve();
  start_events();
  choose_store();
  load_gpu_code_when_needed();
  catch_signals();
  note_mapped(); /* a process that is killed records nothing more */
}

__attribute__((destructor)) static void end(void) { note_mapped(); }
