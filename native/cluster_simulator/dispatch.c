#include "dispatch.h"

#include "gpus.h"
#include "places.h"
#include "queues.h"
#include "running.h"

enum { MANY = 8, UNKNOWN = NIL - 1 };

static void start_first(struct system *s, int64_t number, struct place place) {
  int64_t slot = s->shapes[number].first;
  leave_head(s, number);
  start(s, slot, place.node, place.level);
}

static int64_t next_for(struct system *s, const struct node *node) {
  return next_that_fits(s, node->type, node->free_cpu, node->largest_gpu, node->free_memory);
}

// Places jobs on a freed node: no other one has room for a waiting job.
static void serve(struct system *s, int64_t node_number) {
  const struct node *node = &s->nodes[node_number];
  bool first_fit = s->rules->placement == FIRST_FIT;
  while (node->up && s->clock->pending > 0) {
    int64_t number = next_for(s, node);
    if (number == NIL) return;
    struct place here = {node_number, resolved(s, node->type, s->rules->level)};
    start_first(s, number, first_fit ? here : place(s, &s->shapes[number]));
  }
}

static void forget_fresh(struct system *s, int64_t at) {
  s->fresh[at] = s->fresh[--s->clock->fresh];
}

// Returns the place in the list of the new shape that is served first; or NIL.
static int64_t first_fresh(struct system *s) {
  int64_t best = NIL;
  for (int64_t at = 0; at < s->clock->fresh;) {
    if (s->shapes[s->fresh[at]].waiting == 0) {
      forget_fresh(s, at);
      continue;
    }
    if (best == NIL || is_before(s, s->fresh[at], s->fresh[best])) best = at;
    at++;
  }
  return best;
}

static bool can_take(const struct system *s, const struct node *node, const struct shape *shape) {
  return node->up && has_room(shape, node) && site_of(s, shape->job_class, node->type)->runs;
}

// Returns whether the first job of a shape is still the same, and fits a node.
static bool is_still_first(const struct system *s, int64_t number, int64_t job,
                           const struct node *node) {
  const struct shape *shape = &s->shapes[number];
  return shape->waiting > 0 && first_job(s, number) == job && can_take(s, node, shape);
}

// Returns the shape whose first job is served next, of those that fit a freed node; or NIL.
static int64_t next_on_freed(struct system *s) {
  int64_t count = s->clock->freed, cpu = NIL, gpu = NIL, memory = NIL;
  for (int64_t at = 0; at < count; at++) {
    const struct node *node = &s->nodes[s->freed[at]];
    if (!node->up) continue;
    cpu = most(cpu, node->free_cpu), gpu = most(gpu, node->largest_gpu);
    memory = most(memory, node->free_memory);
  }
  int64_t number = next_that_fits(s, NIL, cpu, gpu, memory);
  if (number == NIL) return NIL;
  for (int64_t at = 0; at < count; at++)
    if (can_take(s, &s->nodes[s->freed[at]], &s->shapes[number])) return number;
  // It takes the most of several nodes: what fits each of them. Room only shrinks meanwhile, so what
  // is known of a node holds until it takes that job, or another takes its room.
  int64_t best = NIL, rank = LAST, job = LAST;
  for (int64_t at = 0; at < count; at++) {
    const struct node *node = &s->nodes[s->freed[at]];
    int64_t *shape = &s->served[2 * at], *its_job = &s->served[2 * at + 1];
    if (!node->up || *shape == NIL) continue;
    if (*shape == UNKNOWN || !is_still_first(s, *shape, *its_job, node)) {
      *shape = next_for(s, node);
      if (*shape == NIL) continue;
      *its_job = first_job(s, *shape);
    }
    if (precedes(s->shapes[*shape].rank, *its_job, rank, job))
      best = *shape, rank = s->shapes[*shape].rank, job = *its_job;
  }
  return best;
}

// Places jobs of new shapes anywhere, and others on freed nodes.
static void try_changed(struct system *s) {
  const struct clock *clock = s->clock;
  if (clock->fresh == 0 && clock->freed == 1) {
    serve(s, s->freed[0]);
    return;
  }
  for (int64_t at = 0; at < clock->freed; at++) s->served[2 * at] = UNKNOWN;
  for (;;) {
    int64_t at = first_fresh(s);
    int64_t number = clock->freed > 0 ? next_on_freed(s) : NIL;
    if (at != NIL && (number == NIL || s->fresh[at] == number || is_before(s, s->fresh[at], number)))
      number = s->fresh[at];
    if (number == NIL) return;
    struct place found = place(s, &s->shapes[number]);
    if (found.node != NIL)
      start_first(s, number, found);
    else
      forget_fresh(s, at);
  }
}

// Returns the shape served next, of those that fit the most free resources; or NIL.
static int64_t next_with_any_room(struct system *s) {
  int64_t cpu = NIL, gpu = NIL, memory = NIL;
  for (int64_t kind = 0; kind < s->kind_count; kind++) {
    const struct free *free = &s->tree[s->kinds[kind].tree + 1];
    cpu = most(cpu, free->cpu), gpu = most(gpu, free->gpu), memory = most(memory, free->memory);
  }
  return next_that_fits(s, NIL, cpu, gpu, memory);
}

// Returns the job to evict for `shape`, whose eviction makes room; or NIL. It has the lowest
// priority, below the new job's; among equals, the latest start.
static int64_t victim_for(const struct system *s, const struct shape *shape) {
  int64_t victim = NIL, lowest = shape->priority;
  for (int64_t slot = s->clock->last_running; slot != NIL; slot = s->jobs[slot].before) {
    const struct job *job = &s->jobs[slot];
    const struct shape *theirs = shape_of(s, job);
    if (theirs->priority >= lowest) continue;
    const struct node *node = &s->nodes[job->node];
    int64_t total, gpu = 0;
    if (shape->gpu > 0) gpu = largest_gpu(s, job->node, job->gpus, theirs->gpu, &total);
    if (site_of(s, shape->job_class, node->type)->runs &&
        fits(shape, node->free_cpu + theirs->cpu, gpu, node->free_memory + theirs->memory))
      victim = slot, lowest = theirs->priority;
  }
  return victim;
}

// Tries the first job of every shape, and the next ones after each start.
static void try_all(struct system *s) {
  const struct rules *rules = s->rules;
  int64_t aside = 0;
  for (;;) {
    s->clock->fresh = 0;
    bool in_order = rules->evicts || rules->head_of_line;
    int64_t number = in_order ? s->queues[1].shape : next_with_any_room(s);
    if (number == NIL) break;
    struct place found = place(s, &s->shapes[number]);
    if (found.node == NIL && rules->evicts) {
      int64_t victim = victim_for(s, &s->shapes[number]);
      if (victim != NIL) {
        evict(s, victim, EVICTED);
        found = place(s, &s->shapes[number]);
      }
    }
    if (found.node != NIL) {
      start_first(s, number, found);
    } else if (rules->head_of_line) {
      break;
    } else {
      s->shapes[number].aside = 1;
      renew(s, number);
      s->aside[aside++] = number;
    }
  }
  for (int64_t at = 0; at < aside; at++) {
    s->shapes[s->aside[at]].aside = 0;
    renew(s, s->aside[at]);
  }
}

void dispatch(struct system *s) {
  struct clock *clock = s->clock;
  if (clock->pending > 0) {
    bool many = clock->fresh > MANY || clock->freed > s->queue_count >> 1;  // more than shapes
    if (s->rules->evicts || s->rules->head_of_line || many)
      try_all(s);
    else
      try_changed(s);
  }
  for (int64_t at = 0; at < clock->freed; at++) s->nodes[s->freed[at]].freed = 0;
  clock->freed = clock->fresh = clock->changed = 0;
}
