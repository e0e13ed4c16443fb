// The arrays of the simulator of batch queues, as BatchState of trimtab/batch/kernel/layout.py.
// Arrays of several dimensions have the last one side by side: sites and preferred [kind, type],
// free, later and cleared [node, resource], chosen [node, (number, parts)], profile [type, step],
// ready_s [node, layer].
#ifndef TRIMTAB_BATCH_QUEUES_STATE_H
#define TRIMTAB_BATCH_QUEUES_STATE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "records.h"

struct state {
  struct clock *clock;
  struct job *jobs;
  struct kind *kinds;
  struct type *types;
  struct site *sites;
  int64_t *preferred;
  struct user *users;
  struct node *nodes;
  int64_t *free, *later;
  int64_t *waiting, *fresh, *running, *heap, *changed, *reserved, *chosen;
  struct allocation *allocations;
  struct step *profile;
  int64_t *steps;
  struct image *images;
  int64_t *image_layers;
  double *layer_bytes, *ready_s;
  struct progress *progress;
  struct run *runs;
  int64_t *cleared;
  int64_t *row;  // scratch space for one node's resources
  double *order;
  int64_t *group;
  struct group *groups;
  int64_t *tree, *active, *candidates;
  int64_t type_count, node_count, resource_count, layer_count;
  int64_t step_space, run_space, group_count;
};

static inline int64_t least(int64_t one, int64_t other) { return one < other ? one : other; }
static inline int64_t most(int64_t one, int64_t other) { return one > other ? one : other; }

static inline struct site *site_of(const struct state *s, const struct job *job, int64_t number) {
  return &s->sites[job->kind * s->type_count + number];
}

static inline struct kind *kind_of(const struct state *s, const struct job *job) {
  return &s->kinds[job->kind];
}

// A node's row of `free`, `later` or `cleared`.
static inline int64_t *row_of(const struct state *s, int64_t *rows, int64_t node) {
  return rows + node * s->resource_count;
}

// The node type that is preferred at a rank, the best first; NIL behind the last.
static inline int64_t preferred(const struct state *s, const struct job *job, int64_t rank) {
  return rank < s->type_count ? s->preferred[job->kind * s->type_count + rank] : NIL;
}

static inline bool is_capped(const struct state *s) { return s->clock->cap_mw < NO_CAP; }

static inline bool is_moldable(const struct job *job) {
  return job->most_parts > job->least_parts;
}

#endif
