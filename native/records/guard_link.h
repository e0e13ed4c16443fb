/* How the guard, which lives among the program's own libraries, and the tracer of functions, which
 * the loader keeps apart from them, meet: the tracer finds this variable in the guard by name. */
#ifndef TRIMTAB_GUARD_LINK_H
#define TRIMTAB_GUARD_LINK_H

#include "functions.h"

#define TRIMTAB_GUARD_LINK "trimtab_guard_link"

struct guard_link {
  struct process_record *volatile process;             /* set by the tracer */
  void (*volatile after_fork)(void);                   /* set by the tracer */
  void (*foreign_trap)(int, void *info, void *context); /* set by the guard */
};

#endif
