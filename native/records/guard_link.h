/* The link of the guard, one of the program's own libraries, with the function tracer, which the
 * loader keeps apart from them: the tracer finds this variable in the guard by name. */
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
