#include "reservation.h"

#include <string.h>

#include "nodes.h"
#include "power.h"

// Frees a running job's nodes in `later`; returns how many more parts of `kind`, up to `parts` on a
// node, fit.
static int64_t release_later(struct state *s, const struct job *running, const struct kind *kind,
                             int64_t parts) {
  int64_t more = 0;
  for (int64_t entry = running->first; entry != NIL; entry = s->allocations[entry].next) {
    const struct allocation *allocation = &s->allocations[entry];
    int64_t *row = row_of(s, s->later, allocation->node);
    more -= fit(s, row, kind, parts);
    change(s, row, kind_of(s, running), allocation->parts, allocation->gpus, 1);
    more += fit(s, row, kind, parts);
  }
  return more;
}

// Returns when a job gets nodes of a type, infinite if not before `before_s`; then `later` has what
// is free at that time.
static double foresee(struct state *s, const struct job *job, int64_t number, double before_s) {
  const struct type *type = &s->types[number];
  const struct clock *clock = s->clock;
  const struct kind *kind = kind_of(s, job);
  memcpy(row_of(s, s->later, type->first_node), row_of(s, s->free, type->first_node),
         (size_t)(type->nodes * s->resource_count) * sizeof *s->later);
  int64_t fitting = 0;
  for (int64_t node = type->lowest; node < type->first_node + type->nodes; node++) {
    const int64_t *free = row_of(s, s->free, node);
    if (free[CPU] >= kind->cpu) fitting += fit(s, free, kind, job->parts);
  }
  int64_t missing_mw = planned_mw(s, job, number) + clock->held_mw - clock->cap_mw;
  double at_s = fitting >= job->parts && missing_mw <= 0 ? clock->now_s : INFINITY;
  for (int64_t at = 0; at < clock->running; at++) {
    const struct job *running = &s->jobs[s->running[at]];
    if (running->ends_s > at_s || running->ends_s >= before_s) break;
    missing_mw -= running->held_mw;
    if (running->type == number) fitting += release_later(s, running, kind, job->parts);
    if (fitting >= job->parts && missing_mw <= 0) at_s = fmin(at_s, running->ends_s);
  }
  return at_s;
}

// Takes a job's nodes in `later`: first those that have less room now.
static void take_later(struct state *s, const struct job *job, int64_t number) {
  const struct type *type = &s->types[number];
  const struct kind *kind = kind_of(s, job);
  int64_t left = job->parts;
  for (int anywhere = 0; anywhere < 2; anywhere++) {
    for (int64_t node = type->first_node; node < type->first_node + type->nodes; node++) {
      if (left == 0) return;
      int64_t *later = row_of(s, s->later, node);
      const int64_t *free = row_of(s, s->free, node);
      if (later[CPU] < kind->cpu || (!anywhere && later[CPU] == free[CPU])) continue;
      if (kind->distinct && s->nodes[node].reserved) continue;
      int64_t fitting = fit(s, later, kind, left);
      if (fitting == 0 || (!anywhere && fitting <= fit(s, free, kind, left))) continue;
      for (int64_t part = 0; part < fitting; part++)
        change(s, later, kind, 1, choose_gpus(s, later, kind, 1), -1);
      left -= fitting;
      if (!s->nodes[node].reserved) {
        s->nodes[node].reserved = 1;
        s->reserved[s->clock->reserved++] = node;
      }
    }
  }
}

void reserve(struct state *s, int64_t slot) {
  struct clock *clock = s->clock;
  const struct job *job = &s->jobs[slot];
  for (int64_t at = 0; at < clock->reserved; at++) {  // the reservation before gives them back
    note_change(s, s->reserved[at]);
    s->nodes[s->reserved[at]].reserved = 0;
  }
  if (clock->reserved > 0) s->types[clock->shadow_type].version++;
  clock->reserved = 0;
  clock->shadow_s = INFINITY, clock->shadow_type = NIL;
  int64_t last = NIL;
  for (int64_t rank = 0, number; (number = preferred(s, job, rank)) != NIL; rank++) {
    double at_s = foresee(s, job, number, clock->shadow_s);
    last = number;
    if (at_s < clock->shadow_s) clock->shadow_s = at_s, clock->shadow_type = number;
  }
  if (clock->shadow_type == NIL) return;
  if (last != clock->shadow_type) foresee(s, job, clock->shadow_type, INFINITY);
  take_later(s, job, clock->shadow_type);
  if (is_capped(s)) reserve_power(s, job);
}
