/* Remove from this process what an enclave does not need: all files, and nearly all system
 * calls. */
#ifndef TRIMTAB_CONFINE_H
#define TRIMTAB_CONFINE_H

#include <stdbool.h>

enum confinement { CONFINED_NOT, CONFINED_SECCOMP, CONFINED_LANDLOCK };

/* Also with Landlock, if the kernel has it. Without seccomp nothing should run here. */
enum confinement confine(void);

#endif
