#include "queues.h"

static const struct queue *first_of(const struct queue *left, const struct queue *right) {
  return precedes(right->rank, right->job, left->rank, left->job) ? right : left;
}

static void set_first(struct queue *entry, int64_t rank, int64_t job, int64_t shape) {
  entry->rank = rank, entry->job = job, entry->shape = shape;
}

void renew(struct system *s, int64_t number) {
  const struct shape *shape = &s->shapes[number];
  int64_t at = shape->leaf;
  if (shape->waiting > 0 && !shape->aside)
    set_first(&s->queues[at], shape->rank, s->jobs[shape->first].job, number);
  else
    set_first(&s->queues[at], LAST, LAST, NIL);
  for (at >>= 1; at > 0; at >>= 1) {
    struct queue *entry = &s->queues[at];
    const struct queue *first = first_of(&s->queues[2 * at], &s->queues[2 * at + 1]);
    if (entry->shape == first->shape && entry->job == first->job) break;
    set_first(entry, first->rank, first->job, first->shape);
  }
}

int64_t next_that_fits(struct system *s, int64_t kind, int64_t cpu, int64_t gpu, int64_t memory) {
  int64_t leaves = s->queue_count >> 1, best = NIL, rank = LAST, job = LAST, at = 1, depth = 0;
  for (;;) {
    const struct queue *entry = &s->queues[at];
    if (precedes(entry->rank, entry->job, rank, job) && entry->cpu <= cpu && entry->gpu <= gpu &&
        entry->memory <= memory) {
      const struct shape *shape = &s->shapes[entry->shape];
      if (fits(shape, cpu, gpu, memory) &&
          (kind == NIL || site_of(s, shape->job_class, kind)->runs)) {
        best = entry->shape, rank = entry->rank, job = entry->job;
      } else if (at < leaves) {
        const struct queue *left = &s->queues[2 * at], *right = left + 1;
        bool from_right = first_of(left, right) == right;
        s->stack[depth++] = 2 * at + !from_right;
        at = 2 * at + from_right;
        continue;
      }
    }
    if (depth == 0) return best;
    at = s->stack[--depth];
  }
}

// Returns whether a waiting job may find a place before a node is freed.
static bool may_start(const struct system *s, const struct shape *shape) {
  if (s->rules->evicts || s->rules->head_of_line) return true;
  for (const struct kind *kind = s->kinds; kind < s->kinds + s->kind_count; kind++) {
    const struct free *most_free = &s->tree[kind->tree + 1];
    if (fits(shape, most_free->cpu, most_free->gpu, most_free->memory)) return true;
  }
  return false;
}

int64_t enter(struct system *s, const struct arrival *arrival) {
  int64_t slot = s->clock->free_slot;
  struct job *job = &s->jobs[slot];
  s->clock->free_slot = job->after;
  job->job = arrival->job, job->shape = arrival->shape, job->arrival_s = arrival->arrival_s;
  job->work_s = job->left_s = arrival->work_s;
  job->dropped = arrival->dropped;
  job->first_s = NAN;
  job->kept_s = job->wasted_s = job->set_up_s = job->sprinted_s = job->energy_j = 0.0;
  job->evictions = job->migrations = job->sprinting = 0;
  job->heap = NIL;
  return slot;
}

void join(struct system *s, int64_t slot) {
  struct job *job = &s->jobs[slot];
  struct shape *shape = shape_of(s, job);
  struct clock *clock = s->clock;
  clock->pending++;
  clock->waiting_cpu += shape->cpu;
  clock->waiting_gpu += shape->gpu;
  clock->waiting_memory += shape->memory;
  shape->waiting++;
  if (shape->waiting == 1) {
    if (may_start(s, shape)) {
      clock->changed = 1;
      s->fresh[clock->fresh++] = job->shape;
    }
    job->before = job->after = NIL;
    shape->first = shape->last = slot;
    renew(s, job->shape);
    return;
  }
  int64_t before = shape->last, after = NIL;
  if (s->jobs[before].job >= job->job) {
    clock->changed = 1;
    after = shape->first;
    while (s->jobs[after].job < job->job) after = s->jobs[after].after;
    before = s->jobs[after].before;
  }
  job->before = before, job->after = after;
  if (before == NIL) {
    shape->first = slot;
    renew(s, job->shape);
  } else {
    s->jobs[before].after = slot;
  }
  if (after == NIL)
    shape->last = slot;
  else
    s->jobs[after].before = slot;
}

void leave_head(struct system *s, int64_t number) {
  struct shape *shape = &s->shapes[number];
  struct clock *clock = s->clock;
  clock->pending--;
  clock->waiting_cpu -= shape->cpu;
  clock->waiting_gpu -= shape->gpu;
  clock->waiting_memory -= shape->memory;
  shape->waiting--;
  shape->first = s->jobs[shape->first].after;
  if (shape->waiting > 0)
    s->jobs[shape->first].before = NIL;
  else
    shape->last = NIL;
  renew(s, number);
}
