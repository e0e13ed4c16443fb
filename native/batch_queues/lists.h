// The sorted lists of jobs: waiting, running, and the heap of ends.
#ifndef TRIMTAB_BATCH_QUEUES_LISTS_H
#define TRIMTAB_BATCH_QUEUES_LISTS_H

#include "state.h"

// Inserts a job into a list at a position.
void insert(int64_t *jobs, int64_t *length, int64_t at, int64_t slot);

// Removes the job at a position of a list.
void remove_at(int64_t *jobs, int64_t *length, int64_t at);

// Removes waiting jobs: the first ones, or the one at a position.
void remove_first_waiting(struct state *s, int64_t count);
void remove_waiting(struct state *s, int64_t at);

// Returns whether a waiting job is served before another one.
bool precedes(const struct state *s, int64_t slot, int64_t other);

// Returns where a job is, or belongs, in a list of waiting jobs.
int64_t waiting_place(const struct state *s, const int64_t *jobs, int64_t length, int64_t slot);

// Adds a job to the list of running ones and to the heap of ends, by its ends.
void add_running(struct state *s, int64_t slot);

// Removes the job that ends first from both, and returns it.
int64_t pop_running(struct state *s);

// Removes a job from both.
void remove_running(struct state *s, int64_t slot);

#endif
