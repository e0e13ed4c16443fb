/* A library loaded into the programs of a slim environment, which lacks files that no traced run
 * used. If a program asks for a removed file, the library restores it and repeats the failed system
 * call. The rest depends on TRIMTAB_FALLBACK, as for functions (../fallback/start.c). */
#include <asm/unistd_64.h>
#include <elf.h>

#include "answer.h"
#include "contents.h"
#include "init.h"
#include "place.h"
#include "program.h"
#include "record.h"
#include "sites.h"

extern unsigned long getauxval(unsigned long type) __attribute__((weak));

/* Whether this program has more rights than its parent: then the parent's settings for stores,
 * records and hooks are ignored. */
static int has_more_rights(void) {
  if (getauxval)
    return getauxval(AT_SECURE) || getauxval(AT_UID) != getauxval(AT_EUID) ||
           getauxval(AT_GID) != getauxval(AT_EGID);
  return KERNEL(__NR_getuid, 0, 0, 0, 0) != KERNEL(__NR_geteuid, 0, 0, 0, 0) ||
         KERNEL(__NR_getgid, 0, 0, 0, 0) != KERNEL(__NR_getegid, 0, 0, 0, 0);
}

void end_program(void) {
  for (;;) KERNEL(__NR_exit_group, STATUS_REMOVED, 0, 0, 0);
}

__attribute__((constructor)) static void start(int count, char **arguments, char **variables) {
  (void)count;
  (void)arguments;
  const char *path = own_path();
  if (!path) return;
  if (has_more_rights()) variables = NULL;
  find_environment(path, variables);
  if (!is_in_environment) return;
  if (!*environment_root) keep_log();
  if (!*environment_root && is_below_init()) {
    leave_to_init();
    take_over_calls(0);
    return;
  }
  find_init();
  take_over_calls(start_record(variables));
  look_at_original(variables);
}
