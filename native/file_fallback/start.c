/* A library loaded into the programs of a slim environment. Files that no traced run used are not in
 * it; a program that asks for one finds it nevertheless: the file comes back, and the system call that
 * failed without it is made again. What happens besides depends on TRIMTAB_FALLBACK, as for functions
 * (../fallback/start.c). */
#include <stddef.h>
#include <sys/auxv.h>

#include "place.h"
#include "record.h"
#include "sites.h"

__attribute__((constructor)) static void start(int count, char **arguments, char **variables) {
  (void)count;
  (void)arguments;
  /* Whoever starts a program with privileges of its own does not choose where it writes. */
  static char *none[] = {NULL};
  if (getauxval(AT_SECURE)) variables = none;
  const char *path = own_path();
  if (!path) return;
  find_environment(path, variables);
  if (!is_in_environment) return;
  start_record(variables);
  take_over_calls();
}
