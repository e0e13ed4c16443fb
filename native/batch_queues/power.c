#include "power.h"

static int64_t active_mw(const struct state *s, const struct job *job, int64_t number) {
  return job->parts * site_of(s, job, number)->part_mw;
}

int64_t planned_mw(const struct state *s, const struct job *job, int64_t number) {
  const struct type *type = &s->types[number];
  int64_t of_node = most(1, site_of(s, job, number)->most_parts / type->nodes);
  int64_t nodes = (job->parts + of_node - 1) / of_node;
  return active_mw(s, job, number) + nodes * type->saved_mw;
}

bool has_power(const struct state *s, const struct job *job, int64_t number, bool lasts) {
  const struct clock *clock = s->clock;
  if (clock->power_mw + active_mw(s, job, number) > clock->cap_mw) return false;
  return !lasts || planned_mw(s, job, number) <= clock->later_mw;
}

bool can_wake(const struct state *s, const struct job *job, int64_t number, int64_t count) {
  int64_t asleep = 0;
  for (int64_t at = 0; at < count; at++) asleep += s->nodes[s->chosen[2 * at]].asleep;
  int64_t needed_mw = active_mw(s, job, number) + asleep * s->types[number].saved_mw;
  return s->clock->power_mw + needed_mw <= s->clock->cap_mw;
}

void draw(struct state *s, struct job *job, int64_t number) {
  struct clock *clock = s->clock;
  int64_t of_job_mw = active_mw(s, job, number);
  clock->power_mw += of_job_mw;
  clock->peak_mw = most(clock->peak_mw, clock->power_mw);
  job->held_mw = of_job_mw + job->nodes * s->types[number].saved_mw;
  clock->held_mw += job->held_mw;
}

void stop_drawing(struct state *s, const struct job *job) {
  s->clock->power_mw -= active_mw(s, job, job->type);
  s->clock->held_mw -= job->held_mw;
}

void reserve_power(struct state *s, const struct job *job) {
  struct clock *clock = s->clock;
  clock->later_mw = clock->cap_mw - clock->held_mw - planned_mw(s, job, clock->shadow_type);
  for (int64_t at = 0; at < clock->running; at++) {
    const struct job *running = &s->jobs[s->running[at]];
    if (running->ends_s > clock->shadow_s) break;
    clock->later_mw += running->held_mw;
  }
}
