#include "backfilling.h"

#include <string.h>

#include "lists.h"
#include "nodes.h"
#include "power.h"
#include "reservation.h"
#include "run_times.h"
#include "starting.h"

// Returns whether a job may last beyond the time of the first waiting job's reservation.
static bool lasts(const struct state *s, const struct job *job, int64_t number, bool any_fit) {
  return !any_fit && s->clock->now_s + longest_s(s, job, number) > s->clock->shadow_s;
}

// Starts a job on a type, at its width.
static bool try_type(struct state *s, int64_t slot, int64_t number, bool any_fit) {
  const struct job *job = &s->jobs[slot];
  bool capped = is_capped(s), reserved = number == s->clock->shadow_type;
  bool stays = (reserved || capped) && lasts(s, job, number, any_fit);
  if (capped && !has_power(s, job, number, stays)) return false;
  if (!start_on(s, slot, number, stays && reserved)) return false;
  if (capped && stays) s->clock->later_mw -= planned_mw(s, job, number);
  return true;
}

// Starts a moldable job on a type, at the best width or else the least.
static bool try_widths(struct state *s, int64_t slot, int64_t number, bool any_fit) {
  struct job *job = &s->jobs[slot];
  widen(s, job, number, false);
  if (number == s->clock->shadow_type && lasts(s, job, number, any_fit))
    widen(s, job, number, true);
  for (int width = 0; width < 2; width++) {
    if (try_type(s, slot, number, any_fit)) return true;
    job->parts = job->least_parts;
  }
  return false;
}

// Starts a job that has room, and unless `any_fit` does not delay the first waiting job.
static bool try(struct state *s, int64_t slot, bool any_fit) {
  const struct job *job = &s->jobs[slot];
  for (int64_t rank = 0, number; (number = preferred(s, job, rank)) != NIL; rank++)
    if (is_moldable(job) ? try_widths(s, slot, number, any_fit)
                         : try_type(s, slot, number, any_fit))
      return true;
  return false;
}

static bool has_free_cores(const struct state *s) {
  for (const struct type *type = s->types; type < s->types + s->type_count; type++)
    if (type->cpu > 0) return true;
  return false;
}

bool start_in_order(struct state *s) {
  struct clock *clock = s->clock;
  int64_t started = 0;
  bool enough = true;
  for (; started < clock->waiting; started++) {
    int64_t slot = s->waiting[started];
    enough = has_space(s, &s->jobs[slot]);
    if (!enough || !try(s, slot, true)) break;
  }
  if (started > 0) {
    clock->waiting -= started;
    memmove(s->waiting, s->waiting + started, (size_t)clock->waiting * sizeof *s->waiting);
  }
  return enough;
}

// Returns whether no changed node has room for a part of a job that had none before.
static bool is_hopeless(const struct state *s, const struct job *job) {
  const struct clock *clock = s->clock;
  const struct kind *kind = kind_of(s, job);
  return kind->cpu > clock->most_cpu || kind->memory > clock->most_memory ||
         kind->gpu > clock->most_gpu;
}

// Tries all waiting jobs from the place `first` on; returns whether space sufficed.
static bool start_any(struct state *s, int64_t first) {
  struct clock *clock = s->clock;
  int64_t kept = first;
  bool enough = true;
  begin_sweep(s);
  bool possible = has_free_cores(s);
  for (int64_t at = first; at < clock->waiting; at++) {
    int64_t slot = s->waiting[at];
    struct job *job = &s->jobs[slot];
    if (!possible) {
      job->tried = 0;
    } else if (enough && !(job->tried && is_hopeless(s, job))) {
      enough = has_space(s, job);
      if (enough && try(s, slot, clock->backfill == ANY)) {
        possible = has_free_cores(s);
        continue;
      }
      job->tried = enough && !is_capped(s);  // else power may be what it lacks
    }
    s->waiting[kept++] = slot;
  }
  clock->waiting = kept;
  return enough;
}

// Tries the jobs submitted since the last search; returns whether space sufficed.
static bool start_fresh(struct state *s) {
  struct clock *clock = s->clock;
  for (int64_t at = 0; at < clock->fresh; at++) {
    int64_t slot = s->fresh[at];
    if (!has_space(s, &s->jobs[slot])) return false;
    int64_t place = waiting_place(s, s->waiting, clock->waiting, slot);
    bool waits = place < clock->waiting && s->waiting[place] == slot;
    if (waits && try(s, slot, clock->backfill == ANY))
      remove_at(s->waiting, &clock->waiting, place);
  }
  return true;
}

bool start_waiting(struct state *s) {
  struct clock *clock = s->clock;
  bool enough = true, swept = clock->grown;
  if (clock->backfill != ANY) enough = start_in_order(s);
  if (enough && clock->waiting > 0) {
    if (clock->backfill == ANY) {
      enough = clock->grown ? start_any(s, 0) : start_fresh(s);
    } else if (clock->backfill == EASY) {
      int64_t head = s->waiting[0];
      if (clock->grown || clock->head != head) {
        reserve(s, head);
        clock->head = head, swept = true;
        enough = start_any(s, 1);
      } else {
        enough = start_fresh(s);
      }
    }
  }
  if (!enough) {
    clock->grown = 1;  // all are tried again
    return false;
  }
  if (swept) end_sweep(s);
  clock->grown = clock->fresh = 0;
  if (clock->waiting == 0) clock->head = NIL;
  return true;
}
