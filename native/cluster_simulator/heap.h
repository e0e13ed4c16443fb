// The events of running jobs: a binary heap of jobs by their earliest event.
//
// Each job stores its place in the heap, so its event can be moved or removed. The order is total:
// time, then kind of event, then number of the job.
#ifndef TRIMTAB_CLUSTER_SIMULATOR_HEAP_H
#define TRIMTAB_CLUSTER_SIMULATOR_HEAP_H

#include "system.h"

enum { EVENT_SHIFT = 56 };  // of an event's kind, above the job's number

// Inserts or moves a job in the heap by its next event.
void schedule(struct system *s, int64_t slot);

// Removes a job from the heap.
void unschedule(struct system *s, int64_t slot);

#endif
