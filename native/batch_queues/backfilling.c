#include "backfilling.h"

#include "groups.h"
#include "lists.h"
#include "nodes.h"
#include "power.h"
#include "reservation.h"
#include "run_times.h"
#include "starting.h"

enum {
  FEW = 16,   // changed nodes that are looked at one by one
  MANY = 32,  // waiting jobs of a group
};

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
    take_from_group(s, slot);
  }
  remove_first_waiting(s, started);
  return enough;
}

// Returns whether no changed node has room for a part of a job that had none before.
static bool is_hopeless(const struct state *s, const struct kind *kind) {
  const struct clock *clock = s->clock;
  if (kind->cpu > clock->most_cpu || kind->memory > clock->most_memory ||
      kind->gpu > clock->most_gpu)
    return true;
  if (clock->changed > FEW) return false;
  for (int64_t at = 0; at < clock->changed; at++)
    if (fit(s, row_of(s, s->free, s->changed[at]), kind, 1) > 0) return false;
  return true;
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
    } else if (enough && !(job->tried && is_hopeless(s, kind_of(s, job)))) {
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

// Returns whether a job, shorter than another one, may start where that would delay the first.
static bool is_in_time(const struct state *s, const struct job *job, int64_t number) {
  return !lasts(s, job, number, false);
}

// Tries a job; returns whether it started. If not, its group is open for shorter ones at most.
static bool try_of_group(struct state *s, int64_t slot) {
  struct clock *clock = s->clock;
  if (try(s, slot, clock->backfill == ANY)) return true;
  const struct job *job = &s->jobs[slot];
  struct group *group = &s->groups[s->group[slot]];
  int64_t number = clock->shadow_type;
  bool may_last = group->open == ALL && number != NIL &&
                  site_of(s, job, number)->slowdown < INFINITY && !is_in_time(s, job, number);
  group->open = may_last ? SHORT : SHUT;
  return false;
}

// Opens a group where one of its jobs may have room in this sweep.
static void open_group(struct state *s, struct group *group) {
  group->open = group->untried || !is_hopeless(s, &s->kinds[group->kind]) ? ALL : SHUT;
  group->untried = 0;
}

// As `start_any`, but tries only the first jobs of a group, until one has no room.
static bool start_any_of_groups(struct state *s, int64_t first) {
  struct clock *clock = s->clock;
  begin_sweep(s);
  for (int64_t at = first; at < clock->waiting; at++)
    s->groups[s->group[s->waiting[at]]].open = UNSEEN;
  int64_t kept = first, at = first;
  bool enough = true;
  for (; at < clock->waiting && has_free_cores(s); at++) {
    int64_t slot = s->waiting[at];
    struct group *group = &s->groups[s->group[slot]];
    if (group->open == UNSEEN) open_group(s, group);
    bool may_start = group->open == ALL ||
                     (group->open == SHORT && is_in_time(s, &s->jobs[slot], clock->shadow_type));
    if (may_start) {
      enough = has_space(s, &s->jobs[slot]);
      if (!enough) break;
      if (try_of_group(s, slot)) {
        take_from_group(s, slot);
        continue;
      }
    }
    s->waiting[kept++] = slot;
  }
  for (int64_t left = at; left < clock->waiting; left++) {
    s->groups[s->group[s->waiting[left]]].untried = 1;
    s->waiting[kept++] = s->waiting[left];
  }
  clock->waiting = kept;
  return enough;
}

// As `start_any_of_groups`, but finds these jobs in the trees of their groups.
static bool start_any_in_trees(struct state *s, int64_t first) {
  struct clock *clock = s->clock;
  begin_sweep(s);
  // What had no room in order has none now.
  int64_t beyond = first > 0 ? s->group[s->waiting[0]] : NIL;
  int64_t count = 0;
  for (int64_t at = 0; at < clock->active; at++) {
    struct group *group = &s->groups[s->active[at]];
    open_group(s, group);
    if (group->open == ALL && s->active[at] != beyond)
      push_candidate(s, count++, next_in_group(s, group, 0, NULL, NIL));
  }
  while (count > 0 && has_free_cores(s)) {
    int64_t slot = s->candidates[0];
    if (!has_space(s, &s->jobs[slot])) return false;
    if (try_of_group(s, slot)) {
      remove_waiting(s, waiting_place(s, s->waiting, clock->waiting, slot));
      take_from_group(s, slot);
    }
    const struct group *group = &s->groups[s->group[slot]];
    int64_t next = NIL;
    if (group->open != SHUT)
      next = next_in_group(s, group, s->jobs[slot].leaf + 1,
                           group->open == SHORT ? is_in_time : NULL, clock->shadow_type);
    replace_candidate(s, count, next);
    if (next == NIL) count--;
  }
  for (int64_t at = 0; at < count; at++) s->groups[s->group[s->candidates[at]]].untried = 1;
  return true;
}

static bool search_again(struct state *s, int64_t first) {
  if (s->group_count == 0) return start_any(s, first);
  // Trees are worth it for groups of many waiting jobs.
  bool in_trees = s->clock->trees && MANY * s->clock->active < s->clock->waiting;
  return in_trees ? start_any_in_trees(s, first) : start_any_of_groups(s, first);
}

// Tries the jobs submitted since the last search; returns whether space sufficed.
static bool start_fresh(struct state *s) {
  struct clock *clock = s->clock;
  for (int64_t at = 0; at < clock->fresh; at++) {
    int64_t slot = s->fresh[at];
    if (!has_space(s, &s->jobs[slot])) return false;
    int64_t place = waiting_place(s, s->waiting, clock->waiting, slot);
    bool waits = place < clock->waiting && s->waiting[place] == slot;
    if (!waits || !try(s, slot, clock->backfill == ANY)) continue;
    remove_waiting(s, place);
    take_from_group(s, slot);
  }
  return true;
}

bool start_waiting(struct state *s) {
  struct clock *clock = s->clock;
  bool enough = true, swept = clock->grown;
  if (clock->backfill != ANY) enough = start_in_order(s);
  if (enough && clock->waiting > 0) {
    if (clock->backfill == ANY) {
      enough = clock->grown ? search_again(s, 0) : start_fresh(s);
    } else if (clock->backfill == EASY) {
      int64_t head = s->waiting[0];
      if (clock->grown || clock->head != head) {
        reserve(s, head);
        clock->head = head, swept = true;
        enough = search_again(s, 1);
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
