// The arrays of the simulator of a cluster: KernelModel, KernelState and KernelOutput of
// trimtab/policies/layout.py, one after the other. Arrays of several dimensions have the last one
// side by side: sites and lacking [class, type], paces [class, type, level], load_curve [type, 11],
// gpus [node, GPU], served [freed node, (shape, job)], images [class, node], candidates [type, 3].
#ifndef TRIMTAB_CLUSTER_SIMULATOR_SYSTEM_H
#define TRIMTAB_CLUSTER_SIMULATOR_SYSTEM_H

#include <math.h>
#include <stdbool.h>

#include "records.h"

struct system {
  const struct rules *rules;
  const struct kind *kinds;
  const struct job_class *classes;
  const struct class_on_type *sites;
  const struct service_rate *paces;
  const double *load_curve;
  const struct outage *outages;
  const double *work_s;
  const int64_t *works_from;

  struct clock *clock;
  struct job *jobs;
  struct heap_entry *heap;
  struct node *nodes;
  int64_t *gpus;
  struct free *tree;
  struct shape *shapes;
  struct queue *queues;
  int64_t *fresh, *aside, *freed, *served, *stack;
  uint8_t *images;
  int64_t *lacking, *candidates;

  struct finished_row *rows;
  struct allocation_row *allocations;

  int64_t kind_count, level_count, outage_count, node_count, gpu_count, queue_count;
  int64_t row_space, allocation_space;
};

static inline int64_t least(int64_t one, int64_t other) { return one < other ? one : other; }
static inline int64_t most(int64_t one, int64_t other) { return one > other ? one : other; }

static inline struct shape *shape_of(const struct system *s, const struct job *job) {
  return &s->shapes[job->shape];
}

static inline const struct class_on_type *site_of(const struct system *s, int64_t job_class,
                                                  int64_t kind) {
  return &s->sites[job_class * s->kind_count + kind];
}

static inline const struct service_rate *pace_of(const struct system *s, int64_t job_class,
                                                 int64_t kind, int64_t level) {
  return &s->paces[(job_class * s->kind_count + kind) * s->level_count + level];
}

static inline bool has_image(const struct system *s, int64_t job_class, int64_t node) {
  return s->images[job_class * s->node_count + node];
}

// Returns whether a job of `shape` fits free resources.
static inline bool fits(const struct shape *shape, int64_t cpu, int64_t gpu, int64_t memory) {
  return shape->cpu <= cpu && shape->gpu <= gpu && shape->memory <= memory;
}

static inline bool has_room(const struct shape *shape, const struct node *node) {
  return fits(shape, node->free_cpu, node->largest_gpu, node->free_memory);
}

// Returns whether a job is served before another one.
static inline bool precedes(int64_t rank, int64_t job, int64_t other_rank, int64_t other_job) {
  return rank < other_rank || (rank == other_rank && job < other_job);
}

// Returns a level's number; negative ones count from the type's highest, -1.
static inline int64_t resolved(const struct system *s, int64_t kind, int64_t level) {
  return level < 0 ? level + s->kinds[kind].levels : level;
}

#endif
