// Waiting jobs: one queue, in the order of arrival, for each shape of job.
//
// A binary tree over the shapes finds the next job to serve that fits given resources. Shapes of
// similar requests stand side by side (shapes.with_shapes). An entry has the least requests of the
// shapes below, and which of their first jobs is served first.
#ifndef TRIMTAB_CLUSTER_SIMULATOR_QUEUES_H
#define TRIMTAB_CLUSTER_SIMULATOR_QUEUES_H

#include "system.h"

static inline int64_t first_job(const struct system *s, int64_t number) {
  return s->jobs[s->shapes[number].first].job;
}

// Returns whether the first job of shape `number` is served before that of shape `other`.
static inline bool is_before(const struct system *s, int64_t number, int64_t other) {
  int64_t rank = s->shapes[number].rank, other_rank = s->shapes[other].rank;
  return rank < other_rank || (rank == other_rank && first_job(s, number) < first_job(s, other));
}

// Updates the tree of shapes with the first job of shape `number`; none, if it is aside.
void renew(struct system *s, int64_t number);

// Returns the shape whose first job is served next, of those that fit; or NIL. It runs on nodes of
// the type `kind`; NIL: of any.
int64_t next_that_fits(struct system *s, int64_t kind, int64_t cpu, int64_t gpu, int64_t memory);

// Gives an arriving job a slot; returns it.
int64_t enter(struct system *s, const struct arrival *arrival);

// Puts a job into the queue of its shape, ordered by number. A new job goes to the end, without
// effect on those before it. An evicted job came before those that never ran, so its place is
// searched from the head.
void join(struct system *s, int64_t slot);

// Removes the first job from the queue of shape `number`.
void leave_head(struct system *s, int64_t number);

#endif
