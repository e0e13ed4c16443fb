#ifndef TRIMTAB_SUPERVISOR_DESCENDANTS_H
#define TRIMTAB_SUPERVISOR_DESCENDANTS_H

/* Kill all descendants of this process, even daemons, and reap them; this process has to adopt
 * orphans. Gives up on those that the kernel holds for too long. */
void kill_descendants(void);

#endif
