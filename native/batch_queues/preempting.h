// Preemption: the first waiting job takes the nodes of running jobs of lower tiers.
//
// As Slurm with PreemptMode=REQUEUE: those of the lowest tier first, and of these the last that
// started. None is interrupted that the job does not need.
#ifndef TRIMTAB_BATCH_QUEUES_PREEMPTING_H
#define TRIMTAB_BATCH_QUEUES_PREEMPTING_H

#include "state.h"

// Preempts running jobs for the first waiting one, which has no room; returns whether any was. None
// is where it has room once those have left that give way already, and while it waits for those
// that it interrupted: short jobs may run until then.
bool preempt_for_first(struct state *s);

#endif
