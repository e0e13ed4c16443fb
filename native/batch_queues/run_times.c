#include "run_times.h"

#include "images.h"

static double width_factor(const struct job *job) {
  if (job->parts == job->recorded_parts) return 1.0;
  double serial = job->serial_share, parts = (double)job->parts;
  double recorded = (double)job->recorded_parts;
  return (serial + (1.0 - serial) / parts) / (serial + (1.0 - serial) / recorded);
}

double slowdown(const struct state *s, const struct job *job, int64_t number) {
  return site_of(s, job, number)->slowdown * width_factor(job);
}

// Adds checkpoints to a run: none is written at its end.
static double with_checkpoints(const struct progress *progress, double lasts_s) {
  double written = fmax(0.0, ceil(lasts_s / progress->interval_s) - 1.0);
  return progress->restart_s + lasts_s + written * progress->cost_s;
}

double wall_s(const struct state *s, const struct job *job, int64_t number, double work_s) {
  double lasts_s = work_s * slowdown(s, job, number);
  if (s->clock->interrupts) lasts_s = with_checkpoints(&s->progress[job - s->jobs], lasts_s);
  return lasts_s;
}

double longest_s(const struct state *s, const struct job *job, int64_t number) {
  const struct type *type = &s->types[number];
  double lasts_s = wall_s(s, job, number, job->estimate_s) + longest_start_s(s, job);
  return type->sleep_after_s < INFINITY ? lasts_s + type->wake_s : lasts_s;
}

double measure(const struct state *s, int64_t slot, double at_s, struct run *run) {
  const struct job *job = &s->jobs[slot];
  const struct progress *progress = &s->progress[slot];
  run->start_s = job->start_s, run->end_s = at_s, run->job = slot;
  run->type = job->type, run->nodes = job->nodes, run->first = job->first, run->parts = job->parts;
  double left_s = at_s - job->start_s;
  run->waking_s = fmin(left_s, job->waking_s);
  run->startup_s = fmin(job->startup_s, run->waking_s), run->pulls = job->pulls;
  run->pulled_bytes = job->pulled_bytes;
  left_s -= run->waking_s;
  run->restart_s = fmin(left_s, progress->restart_s);
  left_s -= run->restart_s;
  run->saved_s = run->checkpoint_s = 0.0;
  if (progress->interval_s < INFINITY) {
    double written = floor(left_s / (progress->interval_s + progress->cost_s));
    run->saved_s = written * progress->interval_s;
    run->checkpoint_s = written * progress->cost_s;
    left_s = fmax(0.0, left_s - run->saved_s - run->checkpoint_s);
  }
  run->lost_s = fmin(left_s, progress->interval_s);
  double begun_s = left_s - run->lost_s;
  run->checkpoint_s += begun_s;
  return begun_s > 0.0 ? progress->cost_s - begun_s : 0.0;
}
