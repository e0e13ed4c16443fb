#ifndef TRIMTAB_SUPERVISOR_DESCENDANTS_H
#define TRIMTAB_SUPERVISOR_DESCENDANTS_H

/* Kill every process below this one, daemons too, and wait for them; this process has to be the
 * one that orphans are given to. Gives up on those that the kernel holds for too long. */
void kill_descendants(void);

#endif
