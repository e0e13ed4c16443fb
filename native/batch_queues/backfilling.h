// The search for waiting jobs that start now: without backfilling, with any, and EASY's.
#ifndef TRIMTAB_BATCH_QUEUES_BACKFILLING_H
#define TRIMTAB_BATCH_QUEUES_BACKFILLING_H

#include "state.h"

// Starts waiting jobs in order until one has no room; returns whether space sufficed.
bool start_in_order(struct state *s);

// Starts the waiting jobs that may start now; returns whether space sufficed. Where nothing was
// freed since the last search, only jobs submitted meanwhile can start: room only shrank, and so
// did what the first job's reservation leaves.
bool start_waiting(struct state *s);

#endif
