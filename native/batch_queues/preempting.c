#include "preempting.h"

#include <string.h>

#include "interrupting.h"
#include "nodes.h"

// Gives back (`sign` 1) or takes (-1) a running job's nodes in `cleared`.
static void change_cleared(struct state *s, const struct job *job, int64_t sign) {
  for (int64_t entry = job->first; entry != NIL; entry = s->allocations[entry].next) {
    const struct allocation *allocation = &s->allocations[entry];
    int64_t *row = row_of(s, s->cleared, allocation->node);
    change(s, row, kind_of(s, job), allocation->parts, allocation->gpus, sign);
  }
}

// Writes into `cleared` what nodes of a type have once the jobs that give way have left.
static void clear(struct state *s, int64_t number) {
  const struct type *type = &s->types[number];
  memcpy(row_of(s, s->cleared, type->first_node), row_of(s, s->free, type->first_node),
         (size_t)(type->nodes * s->resource_count) * sizeof *s->cleared);
  for (int64_t at = 0; at < s->clock->running; at++) {
    int64_t slot = s->running[at];
    if (s->jobs[slot].type == number && s->progress[slot].yields == GIVES_WAY)
      change_cleared(s, &s->jobs[slot], 1);
  }
}

// Returns whether a waiting job fits a type's `cleared` nodes.
static bool fits(const struct state *s, const struct job *job, int64_t number) {
  const struct type *type = &s->types[number];
  int64_t left = job->parts;
  for (int64_t node = type->first_node; node < type->first_node + type->nodes && left > 0; node++)
    left -= fit(s, row_of(s, s->cleared, node), kind_of(s, job), left);
  return left == 0;
}

// Returns the next job on a type to give way to a tier; NIL without any.
static int64_t next_victim(const struct state *s, double tier, int64_t number) {
  int64_t best = NIL;
  for (int64_t at = 0; at < s->clock->running; at++) {
    int64_t slot = s->running[at];
    const struct job *job = &s->jobs[slot];
    const struct progress *progress = &s->progress[slot];
    if (job->type != number || job->tier >= tier || progress->yields || !progress->preemptable)
      continue;
    if (best != NIL) {
      const struct job *other = &s->jobs[best];
      if (job->tier > other->tier) continue;
      bool earlier =
          job->start_s < other->start_s || (job->start_s == other->start_s && slot < best);
      if (job->tier == other->tier && earlier) continue;
    }
    best = slot;
  }
  return best;
}

// Chooses the jobs of lower tiers that have to leave a type for a job; returns whether it fits. Then
// `yields` of each is CHOSEN.
static bool choose(struct state *s, const struct job *job, int64_t number) {
  clear(s, number);
  bool has_room = false;
  while (!has_room) {
    int64_t victim = next_victim(s, job->tier, number);
    if (victim == NIL) break;
    s->progress[victim].yields = CHOSEN;
    change_cleared(s, &s->jobs[victim], 1);
    has_room = fits(s, job, number);
  }
  for (int64_t at = 0; at < s->clock->running; at++) {
    int64_t other = s->running[at];
    if (s->progress[other].yields != CHOSEN) continue;
    if (has_room) change_cleared(s, &s->jobs[other], -1);
    if (!has_room || fits(s, job, number))
      s->progress[other].yields = STAYS;  // not needed, or in vain
    else
      change_cleared(s, &s->jobs[other], 1);
  }
  return has_room;
}

bool preempt_for_first(struct state *s) {
  struct clock *clock = s->clock;
  if (clock->waiting == 0) return false;
  int64_t slot = s->waiting[0];
  const struct job *job = &s->jobs[slot];
  if (clock->claimant == slot && (clock->yielding > 0 || clock->claimed_s == clock->now_s))
    return false;
  for (int64_t rank = 0, number; (number = preferred(s, job, rank)) != NIL; rank++) {
    clear(s, number);
    if (fits(s, job, number)) return false;
  }
  for (int64_t rank = 0, number; (number = preferred(s, job, rank)) != NIL; rank++) {
    if (!choose(s, job, number)) continue;
    for (int64_t at = 0; at < clock->running;) {
      int64_t other = s->running[at++];
      if (s->progress[other].yields != CHOSEN) continue;
      s->progress[other].yields = GIVES_WAY;
      clock->yielding++;
      preempt(s, other, BY_PRIORITY);
      at = 0;
    }
    clock->grown = clock->shrunk = 1;
    clock->claimant = slot, clock->claimed_s = clock->now_s;
    return true;
  }
  return false;
}
