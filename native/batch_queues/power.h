// A cap of the power of all nodes together, in whole milliwatts, so that sums are exact.
//
// What is drawn now: idle power of nodes that are on, and active power of running jobs. A
// reservation counts a job's active power and what its nodes draw more than asleep, though jobs may
// share a node, and other nodes may idle on until they sleep.
#ifndef TRIMTAB_BATCH_QUEUES_POWER_H
#define TRIMTAB_BATCH_QUEUES_POWER_H

#include "state.h"

// Returns the power that a job needs at least on a type, on empty nodes that sleep.
int64_t planned_mw(const struct state *s, const struct job *job, int64_t number);

// Returns whether a job's active power is below the cap. `lasts`: its reservation, too, beside that
// of the first waiting job.
bool has_power(const struct state *s, const struct job *job, int64_t number, bool lasts);

// Returns whether there is power for a job, and to wake those of its `count` chosen nodes that
// sleep.
bool can_wake(const struct state *s, const struct job *job, int64_t number, int64_t count);

// Counts the power of a job that has its nodes, which are awake.
void draw(struct state *s, struct job *job, int64_t number);

// Counts the power of a job no longer; its nodes are still awake.
void stop_drawing(struct state *s, const struct job *job);

// Notes what the first waiting job's reservation leaves of the power when it starts.
void reserve_power(struct state *s, const struct job *job);

#endif
