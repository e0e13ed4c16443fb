// The event loop: takes the earliest event, then tries waiting jobs, until it has to return.
//
// At one instant, jobs' own events come first: finish, image there, moved, sprint timer, each by
// number of the job. Then come outages, the empty sprint budget and arrivals. Then waiting jobs are
// placed. Tick, sample and maintenance come last. So jobs that arrive at one instant are served by
// priority, not in the order of the trace.
#include "capacity.h"
#include "dispatch.h"
#include "heap.h"
#include "moves.h"
#include "one_server.h"
#include "queues.h"
#include "running.h"

#define EXPORTED __attribute__((visibility("default")))

enum what { JOBS_OWN, NODE_OUTAGE, EMPTY, ARRIVES, TICK, TAKE_SAMPLE, MAINTENANCE, NOTHING };
struct next {
  double time_s;
  enum what what;
};

static void handle_outage(struct system *s) {
  const struct outage *outage = &s->outages[s->clock->outage++];
  struct node *node = &s->nodes[outage->node];
  if (outage->up) {
    node->up = 1;
    node->down_s += s->clock->now_s - node->down_since_s;
    refresh(s, outage->node);
    make_available(s, outage->node);
  } else {
    fail(s, outage->node);
    refresh(s, outage->node);
  }
}

// Handles the event at the top of the heap.
static void handle_own(struct system *s) {
  int64_t slot = s->heap[0].slot;
  const struct job *job = &s->jobs[slot];
  switch ((enum event)(s->heap[0].order >> EVENT_SHIFT)) {
    case FINISH:
      finish(s, slot);
      break;
    case DRAW:
      draw_at_node(s, slot);
      break;
    case DRAW_THERE:
      draw_at_new_node(s, slot);
      break;
    case SWITCH:
      continue_there(
          s, slot, site_of(s, shape_of(s, job)->job_class, s->nodes[job->there].type)->pause_s);
      break;
    case SPRINT:
      sprint(s, slot);
  }
}

static void take_earlier(struct next *next, double time_s, enum what what) {
  if (time_s < next->time_s) *next = (struct next){time_s, what};
}

// Returns the next event other than jobs' own.
static struct next next_other(const struct system *s) {
  const struct clock *clock = s->clock;
  struct next next = {INFINITY, NOTHING};
  if (clock->outage < s->outage_count)
    take_earlier(&next, s->outages[clock->outage].time_s, NODE_OUTAGE);
  take_earlier(&next, clock->tick_s, TICK);
  take_earlier(&next, clock->sample_s, TAKE_SAMPLE);
  take_earlier(&next, clock->maintain_s, MAINTENANCE);
  return next;
}

// Continues from `position` of `count` arrivals until the caller is needed; returns why. `last`: no
// arrivals follow. SAMPLE and MAINTAIN are at the time `now_s`; the caller sets the next one's time.
// All that it calls is inlined: a fifth of the time.
EXPORTED __attribute__((flatten)) int trimtab_cluster_run(struct system *s,
                                                          const struct arrival *arrivals,
                                                          int64_t count, int64_t *position,
                                                          bool last) {
  struct clock *clock = s->clock;
  struct next other = next_other(s);
  for (;;) {
    if (!clock->changed && has_one_server(s))
      *position = serve_alone(s, arrivals, count, *position, last, other.time_s);
    if (*position == count && !last) return NEED_ARRIVALS;
    struct next next = {INFINITY, NOTHING};
    if (clock->in_heap > 0) next = (struct next){s->heap[0].time_s, JOBS_OWN};
    take_earlier(&next, clock->empty_s, EMPTY);
    if (*position < count) take_earlier(&next, arrivals[*position].arrival_s, ARRIVES);
    if (other.time_s < next.time_s || (other.time_s == next.time_s && other.what < next.what))
      next = other;

    if (s->rules->records_allocations &&
        s->allocation_space < clock->allocations + 3 * clock->running + 8)
      return NEED_OUTPUT;
    if (clock->changed && (next.time_s > clock->now_s || next.what >= TICK)) {
      dispatch(s);
      continue;
    }
    if (next.what == JOBS_OWN && clock->rows == s->row_space) return NEED_OUTPUT;
    if (next.what == ARRIVES && clock->free_slot == NIL) return NEED_SLOTS;
    if (next.what != JOBS_OWN && next.what != ARRIVES && clock->in_heap == 0 &&
        *position == count && (clock->pending == 0 || clock->outage == s->outage_count))
      return DONE;
    clock->now_s = next.time_s;
    clock->events++;
    switch (next.what) {
      case JOBS_OWN:
        handle_own(s);
        continue;
      case ARRIVES:
        join(s, enter(s, &arrivals[(*position)++]));
        continue;
      case EMPTY:
        stop_sprints(s);
        break;
      case NODE_OUTAGE:
        handle_outage(s);
        break;
      case TICK:
        reconsider(s);
        clock->tick_s += s->rules->tick_s;
        break;
      case TAKE_SAMPLE:
        return SAMPLE;
      default:
        return MAINTAIN;
    }
    other = next_other(s);
  }
}

// The fields of all records, as text, for a test.
#define F8(name) " f8:" #name
#define I8(name) " i8:" #name
#define U8(name) " u8:" #name
#define LINE(tag, fields) #tag fields(F8, I8, U8) "\n"
EXPORTED const char trimtab_cluster_records[] =
    LINE(JOB, JOB) LINE(NODE, NODE) LINE(SHAPE, SHAPE) LINE(QUEUE, QUEUE) LINE(CLOCK, CLOCK)
    LINE(RULES, RULES) LINE(FREE, FREE) LINE(ARRIVAL, ARRIVAL) LINE(HEAP, HEAP)
    LINE(OUTAGE, OUTAGE) LINE(ALLOCATION_ROW, ALLOCATION_ROW) LINE(FINISHED_ROW, FINISHED_ROW)
    LINE(KIND, KIND) LINE(JOB_CLASS, JOB_CLASS) LINE(CLASS_ON_TYPE, CLASS_ON_TYPE)
    LINE(SERVICE_RATE, SERVICE_RATE);
