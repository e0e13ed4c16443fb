// Starts and ends of jobs.
#ifndef TRIMTAB_BATCH_QUEUES_STARTING_H
#define TRIMTAB_BATCH_QUEUES_STARTING_H

#include "state.h"

// Returns whether there is space for a job's allocations.
bool has_space(const struct state *s, const struct job *job);

// Starts a job on nodes of a type, if there is room. `keeps`: it leaves the first job's reservation
// alone.
bool start_on(struct state *s, int64_t slot, int64_t number, bool keeps);

// Gives a waiting job the width that ends first of those with room and power now. This is the
// widest, unless all are as fast. Without room it has its least width.
void widen(struct state *s, struct job *job, int64_t number, bool keeps);

// Ends the job that ends first, and returns it.
int64_t end_first(struct state *s);

// Frees the nodes of a job that is no longer in the lists of running ones.
void free_nodes(struct state *s, int64_t slot);

// Starts the waiting jobs that a round gave a type with room; returns whether space sufficed.
bool start_assigned(struct state *s);

#endif
