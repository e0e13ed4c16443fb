#include "planning.h"

#include <string.h>

#include "power.h"
#include "run_times.h"
#include "starting.h"

static struct step *profile_of(const struct state *s, int64_t number) {
  return s->profile + number * s->step_space;
}

bool has_steps(const struct state *s) {
  return 4 * (s->clock->waiting + s->clock->running + 2) <= s->step_space;
}

// Returns the step of a type's profile that begins at a time, which is added if missing.
static struct step *breakpoint(struct state *s, int64_t number, double at_s) {
  struct step *profile = profile_of(s, number);
  int64_t length = s->steps[number], low = 0, high = length;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (profile[middle].at_s < at_s)
      low = middle + 1;
    else
      high = middle;
  }
  struct step *step = &profile[low];
  if (low < length && step->at_s == at_s) return step;
  memmove(step + 1, step, (size_t)(length - low) * sizeof *step);
  *step = step[-1];
  step->at_s = at_s;
  s->steps[number] = length + 1;
  return step;
}

// Adds (`sign` 1) or subtracts a job's demands on a type from one time to another.
static void change_profile(struct state *s, const struct job *job, int64_t number, double begin_s,
                           double end_s, int64_t sign) {
  if (!(end_s > begin_s)) return;
  const struct kind *kind = kind_of(s, job);
  struct step *begin = breakpoint(s, number, begin_s), *end = breakpoint(s, number, end_s);
  for (struct step *step = begin; step < end; step++) {
    step->cpu += sign * job->parts * kind->cpu;
    step->memory += sign * job->parts * kind->memory;
    step->gpu += sign * job->parts * kind->gpu;
  }
  if (!is_capped(s)) return;
  begin = breakpoint(s, s->type_count, begin_s), end = breakpoint(s, s->type_count, end_s);
  for (struct step *step = begin; step < end; step++) step->power += sign * job->held_mw;
}

// Removes steps of a type's profile that are over, and joins equal neighbours.
static void forget_past(struct state *s, int64_t number) {
  struct step *profile = profile_of(s, number);
  int64_t length = s->steps[number], kept = 0;
  for (int64_t at = 1; at < length; at++) {
    const struct step *step = &profile[at], *last = &profile[kept];
    if (step->cpu == last->cpu && step->memory == last->memory && step->gpu == last->gpu &&
        step->power == last->power)
      continue;
    if (step->at_s > s->clock->now_s) kept++;
    profile[kept] = *step;
  }
  s->steps[number] = kept + 1;
}

static bool has_demand(const struct step *step, const struct step *demand) {
  return step->cpu >= demand->cpu && step->memory >= demand->memory && step->gpu >= demand->gpu &&
         step->power >= demand->power;
}

// Returns the earliest time from `begin_s` on from which a profile has `demand` for `duration_s`.
static double earliest_in(const struct state *s, int64_t number, const struct step *demand,
                          double begin_s, double duration_s) {
  const struct step *profile = profile_of(s, number);
  int64_t length = s->steps[number], at = 0;
  while (at + 1 < length && profile[at + 1].at_s <= begin_s) at++;
  for (int64_t first = at; at < length; at++) {
    if (at != first && profile[at].at_s >= begin_s + duration_s) break;
    if (has_demand(&profile[at], demand)) continue;
    if (at + 1 == length) return INFINITY;
    first = at + 1;
    begin_s = profile[first].at_s;
  }
  return begin_s;
}

// Returns the earliest time from now on at which a type has room for a job to its end, and with a
// cap the power.
static double earliest(const struct state *s, const struct job *job, int64_t number) {
  const struct kind *kind = kind_of(s, job);
  double duration_s = longest_s(s, job, number);
  const struct step room = {.cpu = job->parts * kind->cpu,
                            .memory = job->parts * kind->memory,
                            .gpu = job->parts * kind->gpu,
                            .power = INT64_MIN};
  double at_s = earliest_in(s, number, &room, s->clock->now_s, duration_s);
  if (!is_capped(s)) return at_s;
  const struct step power = {.cpu = INT64_MIN,
                             .memory = INT64_MIN,
                             .gpu = INT64_MIN,
                             .power = planned_mw(s, job, number)};
  while (at_s < INFINITY) {
    double powered_s = earliest_in(s, s->type_count, &power, at_s, duration_s);
    if (powered_s == at_s) break;
    at_s = earliest_in(s, number, &room, powered_s, duration_s);
  }
  return at_s;
}

// Finds a job's earliest place at its width; ties: the preferred node type.
static void find_place(const struct state *s, struct job *job) {
  job->planned_s = INFINITY, job->planned_type = NIL;
  for (int64_t rank = 0, number; (number = preferred(s, job, rank)) != NIL; rank++) {
    if (job->parts > site_of(s, job, number)->most_parts) continue;
    double at_s = earliest(s, job, number);
    if (at_s < job->planned_s) job->planned_s = at_s, job->planned_type = number;
  }
}

// Adds or subtracts a job's reservation from a time on.
static void change_plan(struct state *s, const struct job *job, double from_s, int64_t sign) {
  double ends_s = job->planned_s + longest_s(s, job, job->planned_type);
  change_profile(s, job, job->planned_type, from_s, ends_s, sign);
}

// Returns the next of the widths that are planned: doubled, up to the most; NIL behind it.
static int64_t next_width(const struct job *job, int64_t parts) {
  return parts == job->most_parts ? NIL : least(2 * parts, job->most_parts);
}

// Reserves a job's earliest place; a moldable job's place that ends first.
static void plan(struct state *s, struct job *job) {
  int64_t best = job->least_parts;
  double best_s = INFINITY;
  for (int64_t parts = is_moldable(job) ? best : NIL; parts != NIL; parts = next_width(job, parts)) {
    job->parts = parts;
    find_place(s, job);
    if (job->planned_type == NIL) continue;
    double end_s = job->planned_s + longest_s(s, job, job->planned_type);
    if (end_s < best_s) best = parts, best_s = end_s;
  }
  job->parts = best;
  find_place(s, job);
  if (job->planned_type == NIL) return;
  job->held_mw = planned_mw(s, job, job->planned_type);
  change_plan(s, job, job->planned_s, -1);
}

void give_back_plan(struct state *s, const struct job *job) {
  change_profile(s, job, job->type, s->clock->now_s, job->ends_s, 1);
}

void take_plan(struct state *s, const struct job *job) {
  change_profile(s, job, job->type, s->clock->now_s, job->ends_s, -1);
}

// Renews all reservations in order. One after the other, as none is later then. But where nodes were
// lost, or a job found only fragments at its time, all are taken out first: else it would come
// behind all others. With preemption, new jobs have their place among them.
static void plan_again(struct state *s) {
  struct clock *clock = s->clock;
  bool late = clock->shrunk;
  clock->shrunk = 0;
  for (int64_t at = 0; at < clock->waiting; at++) {
    const struct job *job = &s->jobs[s->waiting[at]];
    late |= job->planned_type != NIL && job->planned_s < clock->now_s;
  }
  for (int64_t at = 0; at < clock->waiting; at++) {
    struct job *job = &s->jobs[s->waiting[at]];
    if (job->planned_type == NIL) continue;
    change_plan(s, job, fmax(clock->now_s, job->planned_s), 1);
    if (!late) plan(s, job);
  }
  if (!late) return;
  for (int64_t at = 0; at < clock->waiting; at++) {
    struct job *job = &s->jobs[s->waiting[at]];
    if (job->planned_type != NIL || clock->preempts) plan(s, job);
  }
  if (clock->preempts) clock->fresh = 0;
}

void plan_waiting(struct state *s) {
  struct clock *clock = s->clock;
  if (clock->grown) {
    for (int64_t number = 0; number <= s->type_count; number++) forget_past(s, number);
    plan_again(s);
    clock->grown = 0;
  }
  for (int64_t at = 0; at < clock->fresh; at++) plan(s, &s->jobs[s->fresh[at]]);
  clock->fresh = 0;
}

// Starts a job on a type if it has power and room.
static bool start_powered(struct state *s, int64_t slot, int64_t number) {
  if (is_capped(s) && !has_power(s, &s->jobs[slot], number, false)) return false;
  return start_on(s, slot, number, false);
}

// Starts a job whose time has come on another type than its own, where it finds only fragments.
static bool start_elsewhere(struct state *s, int64_t slot) {
  const struct job *job = &s->jobs[slot];
  for (int64_t rank = 0, number; (number = preferred(s, job, rank)) != NIL; rank++) {
    if (number == job->planned_type || job->parts > site_of(s, job, number)->most_parts) continue;
    if (earliest(s, job, number) <= s->clock->now_s && start_powered(s, slot, number)) return true;
  }
  return false;
}

static bool start_in_time(struct state *s, int64_t slot) {
  struct job *job = &s->jobs[slot];
  double now_s = s->clock->now_s;
  int64_t planned = job->held_mw;
  if (!start_powered(s, slot, job->planned_type) && !start_elsewhere(s, slot)) return false;
  // The profile has it at another time or on another type, or with another start-up.
  if (job->planned_s < now_s || job->type != job->planned_type ||
      job->ends_s != now_s + longest_s(s, job, job->type) || job->held_mw != planned) {
    int64_t drawn = job->held_mw;
    job->held_mw = planned;
    change_plan(s, job, now_s, 1);
    job->held_mw = drawn;
    take_plan(s, job);
  }
  return true;
}

bool start_planned(struct state *s, bool one) {
  struct clock *clock = s->clock;
  plan_waiting(s);
  int64_t kept = 0;
  bool enough = true, going = true;
  for (int64_t at = 0; at < clock->waiting; at++) {
    int64_t slot = s->waiting[at];
    if (enough && going && s->jobs[slot].planned_s <= clock->now_s) {
      enough = has_space(s, &s->jobs[slot]);
      if (enough && start_in_time(s, slot)) {
        going = !one;
        continue;
      }
    }
    s->waiting[kept++] = slot;
  }
  clock->waiting = kept;
  return enough;
}

double next_planned_s(const struct state *s) {
  double at_s = INFINITY;
  for (int64_t at = 0; at < s->clock->waiting; at++) {
    double planned_s = s->jobs[s->waiting[at]].planned_s;
    if (s->clock->now_s < planned_s) at_s = fmin(at_s, planned_s);
  }
  return at_s;
}
