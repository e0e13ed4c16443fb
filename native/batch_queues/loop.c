// The event loop: ends and submissions of one instant, then the starts. A job whose order is asked
// again in intervals takes the loop back to its caller.
#include <string.h>

#include "backfilling.h"
#include "groups.h"
#include "interrupting.h"
#include "lists.h"
#include "planning.h"
#include "preempting.h"
#include "sleeping.h"
#include "starting.h"

#define EXPORTED __attribute__((visibility("default")))

static void submit(struct state *s, int64_t slot) {
  struct clock *clock = s->clock;
  struct job *job = &s->jobs[slot];
  job->planned_type = NIL;
  // A reservation of a higher tier comes before that of the last waiting job.
  if (clock->preempts && clock->waiting > 0 &&
      job->tier > s->jobs[s->waiting[clock->waiting - 1]].tier)
    clock->grown = clock->shrunk = 1;
  insert(s->waiting, &clock->waiting, waiting_place(s, s->waiting, clock->waiting, slot), slot);
  insert(s->fresh, &clock->fresh, waiting_place(s, s->fresh, clock->fresh, slot), slot);
  add_to_group(s, slot);
}

static void end(struct state *s) {
  struct clock *clock = s->clock;
  if (clock->interrupts && s->progress[s->heap[0]].leaving) {
    finish_leaving(s, s->heap[0]);
    return;
  }
  int64_t slot = end_first(s);
  const struct job *job = &s->jobs[slot];
  if (clock->preempts) stop_yielding(s, slot);
  if (slot < clock->submissions)
    clock->unfinished--;
  else
    give_back(s, slot);
  if (clock->backfill == CONSERVATIVE && job->end_s < job->ends_s) give_back_plan(s, job);
}

// Returns the time of the next event.
static double next_s(const struct state *s) {
  const struct clock *clock = s->clock;
  double at_s = clock->reclaim_at_s;
  if (clock->running > 0) at_s = fmin(at_s, s->jobs[s->heap[0]].end_s);
  if (clock->arrived < clock->submissions) at_s = fmin(at_s, s->jobs[clock->arrived].submit_s);
  if (clock->waiting > 0 || (clock->rounds && clock->running > 0))
    at_s = fmin(at_s, clock->reorder_at_s);
  if (clock->waiting > 0 && clock->backfill == CONSERVATIVE) at_s = fmin(at_s, next_planned_s(s));
  if (clock->waiting > 0 && is_capped(s)) at_s = fmin(at_s, next_sleep_s(s));
  return at_s;
}

// Handles the ends and submissions of the next instant; returns a reason to stop, or GO_ON.
static enum reason next_instant(struct state *s) {
  struct clock *clock = s->clock;
  if (clock->unfinished == 0) return DONE;
  if (clock->stuck) return STUCK;
  if (clock->interrupts && s->run_space - clock->logged < clock->running) return NEED_SPACE;
  double at_s = clock->now_s = next_s(s);
  fall_asleep(s);
  while (clock->running > 0 && s->jobs[s->heap[0]].end_s == at_s) end(s);
  for (; clock->arrived < clock->submissions && s->jobs[clock->arrived].submit_s == at_s;
       clock->arrived++)
    submit(s, clock->arrived);
  if (at_s >= clock->reclaim_at_s) return NODE_RECLAIMED;
  bool due = at_s >= clock->reorder_at_s;
  if (clock->rounds) return due && clock->waiting + clock->running > 0 ? NEED_ORDER : GO_ON;
  return clock->waiting > 0 && (due || clock->ordered < clock->arrived) ? NEED_ORDER : GO_ON;
}

// Starts the jobs that may start now, interrupting those of lower tiers; returns whether space
// sufficed. While jobs give way to the first one, none of ANY takes what they leave.
static bool start_preempting(struct state *s) {
  struct clock *clock = s->clock;
  do {
    if (!start_in_order(s)) return false;
  } while (preempt_for_first(s));
  if (clock->yielding == 0 || clock->backfill != ANY) return start_waiting(s);
  clock->grown = 1, clock->fresh = 0;
  return true;
}

// The same for conservative backfilling, one start after the other.
static bool start_planned_preempting(struct state *s) {
  for (;;) {
    if (!has_steps(s)) return false;
    plan_waiting(s);
    if (preempt_for_first(s)) continue;
    int64_t before = s->clock->waiting;
    if (!start_planned(s, true)) return false;
    if (s->clock->waiting == before) return true;
  }
}

static bool start(struct state *s) {
  const struct clock *clock = s->clock;
  if (clock->rounds) return start_assigned(s);
  if (clock->backfill != CONSERVATIVE)
    return clock->preempts ? start_preempting(s) : start_waiting(s);
  if (clock->preempts) return start_planned_preempting(s);
  return has_steps(s) && start_planned(s, false);
}

// Continues until the end or until the caller is needed; returns why. NEED_SPACE: more allocations,
// steps of the profile, or runs. NEED_ORDER: waiting jobs and those from `ordered` to `arrived` need
// their `order`; the caller sets `ordered`, and then `reorder_at_s`.
EXPORTED int trimtab_batch_run(struct state *s) {
  int64_t *waiting = s->waiting;
  enum reason reason = GO_ON;
  while (reason == GO_ON) reason = start(s) ? next_instant(s) : NEED_SPACE;
  // Jobs may have gone from the beginning of the list.
  memmove(waiting, s->waiting, (size_t)s->clock->waiting * sizeof *waiting);
  s->waiting = waiting;
  return reason;
}

EXPORTED void trimtab_batch_preempt(struct state *s, int64_t slot) { preempt(s, slot, BY_ROUND); }

EXPORTED void trimtab_batch_reclaim(struct state *s, int64_t number, int64_t node, double back_s,
                                    double notice_s) {
  reclaim(s, number, node, back_s, notice_s);
}

// The fields of all records, as text, for a test.
#define F8(name) " f8:" #name
#define I8(name) " i8:" #name
#define LINE(tag, fields) #tag fields(F8, I8) "\n"
EXPORTED const char trimtab_batch_records[] =
    LINE(JOB, JOB) LINE(PROGRESS, PROGRESS) LINE(RUN, RUN) LINE(KIND, KIND)
    LINE(ALLOCATION, ALLOCATION) LINE(TYPE, TYPE) LINE(NODE, NODE) LINE(SITE, SITE)
    LINE(STEP, STEP) LINE(IMAGE, IMAGE) LINE(GROUP, GROUP) LINE(USER, USER) LINE(CLOCK, CLOCK);
