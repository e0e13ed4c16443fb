#include "interrupting.h"

#include "lists.h"
#include "nodes.h"
#include "planning.h"
#include "run_times.h"
#include "sleeping.h"
#include "starting.h"

static bool is_planned(const struct state *s) { return s->clock->backfill == CONSERVATIVE; }

static void queue_again(struct state *s, int64_t slot) {
  struct clock *clock = s->clock;
  s->jobs[slot].planned_type = NIL, s->jobs[slot].tried = 0;
  insert(s->waiting, &clock->waiting, waiting_place(s, s->waiting, clock->waiting, slot), slot);
  insert(s->fresh, &clock->fresh, waiting_place(s, s->fresh, clock->fresh, slot), slot);
}

void stop_yielding(struct state *s, int64_t slot) {
  if (!s->progress[slot].yields) return;
  s->progress[slot].yields = STAYS;
  s->clock->yielding--;
}

// Takes a running job off its nodes; with `saves`, all it did before a checkpoint counts.
static void interrupt(struct state *s, int64_t slot, bool saves, enum cause cause) {
  struct job *job = &s->jobs[slot];
  struct progress *progress = &s->progress[slot];
  struct clock *clock = s->clock;
  struct run *run = &s->runs[clock->logged++];
  measure(s, slot, progress->leaving ? progress->leaving_s : clock->now_s, run);
  run->cause = cause;
  run->checkpoint_s += clock->now_s - run->end_s;
  run->end_s = clock->now_s;
  if (saves) run->saved_s += run->lost_s, run->lost_s = 0.0;
  if (is_planned(s) && clock->now_s < job->ends_s) give_back_plan(s, job);
  remove_running(s, slot);
  free_nodes(s, slot);
  double saved_s = run->saved_s / slowdown(s, job, job->type);
  job->run_s = fmax(0.0, job->run_s - saved_s);
  job->estimate_s = fmax(job->run_s, job->estimate_s - saved_s);
  job->parts = job->least_parts;
  stop_yielding(s, slot);
  progress->leaving = 0;
  progress->interruptions++;
  if (progress->interruptions >= MOST_INTERRUPTIONS) clock->stuck = 1;
  progress->restart_s = progress->restart_cost_s;
  queue_again(s, slot);
}

void finish_leaving(struct state *s, int64_t slot) {
  interrupt(s, slot, true, s->progress[slot].yields ? BY_PRIORITY : BY_ROUND);
}

void preempt(struct state *s, int64_t slot, enum cause cause) {
  struct job *job = &s->jobs[slot];
  struct progress *progress = &s->progress[slot];
  struct clock *clock = s->clock;
  if (progress->leaving) return;
  if (!progress->saves) {
    interrupt(s, slot, false, cause);
    return;
  }
  struct run *scratch = &s->runs[clock->logged];
  double writing_s = measure(s, slot, clock->now_s, scratch);
  if (writing_s == 0.0 && scratch->lost_s > 0.0) writing_s = progress->cost_s;
  if (clock->now_s + writing_s >= job->end_s) return;
  if (writing_s == 0.0) {
    interrupt(s, slot, true, cause);
    return;
  }
  if (is_planned(s) && clock->now_s < job->ends_s) give_back_plan(s, job);
  remove_running(s, slot);
  progress->leaving = 1, progress->leaving_s = clock->now_s;
  job->end_s = job->ends_s = clock->now_s + writing_s;
  add_running(s, slot);
  if (!is_planned(s)) return;
  take_plan(s, job);
  clock->grown = clock->shrunk = 1;
}

static bool is_on(const struct state *s, const struct job *job, int64_t node) {
  for (int64_t entry = job->first; entry != NIL; entry = s->allocations[entry].next)
    if (s->allocations[entry].node == node) return true;
  return false;
}

void reclaim(struct state *s, int64_t number, int64_t node, double back_s, double notice_s) {
  struct clock *clock = s->clock;
  for (int64_t at = 0; at < clock->running;) {
    int64_t slot = s->running[at];
    if (!is_on(s, &s->jobs[slot], node)) {
      at++;
      continue;
    }
    struct progress *progress = &s->progress[slot];
    bool saves = progress->saves && !progress->leaving && progress->cost_s <= notice_s;
    if (saves) {
      progress->leaving = 1;
      progress->leaving_s = fmax(s->jobs[slot].start_s, clock->now_s - progress->cost_s);
    }
    interrupt(s, slot, saves, BY_RECLAIM);
  }
  int64_t slot = clock->submissions + node;
  struct job *stand_in = &s->jobs[slot];
  s->chosen[0] = node, s->chosen[1] = 1;
  lose_images(s, node);
  clock->power_mw -= s->types[number].saved_mw;
  allocate(s, stand_in, number, 1, false);
  clock->held_mw -= stand_in->held_mw;
  stand_in->held_mw = 0;
  stand_in->type = number, stand_in->start_s = clock->now_s, stand_in->waking_s = 0.0;
  stand_in->end_s = stand_in->ends_s = back_s;
  s->nodes[node].reclaimed_s += back_s - clock->now_s;
  add_running(s, slot);
  if (is_planned(s)) take_plan(s, stand_in);
  clock->grown = clock->shrunk = 1;
}

void give_back(struct state *s, int64_t slot) {
  sleep_at_once(s, slot - s->clock->submissions, &s->types[s->jobs[slot].type]);
}
