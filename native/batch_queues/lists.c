#include "lists.h"

#include <string.h>

void insert(int64_t *jobs, int64_t *length, int64_t at, int64_t slot) {
  memmove(jobs + at + 1, jobs + at, (size_t)(*length - at) * sizeof *jobs);
  jobs[at] = slot;
  *length += 1;
}

void remove_at(int64_t *jobs, int64_t *length, int64_t at) {
  *length -= 1;
  memmove(jobs + at, jobs + at + 1, (size_t)(*length - at) * sizeof *jobs);
}

// The list begins behind them: it has space enough where no job comes back.
void remove_first_waiting(struct state *s, int64_t count) {
  s->clock->waiting -= count;
  if (s->clock->interrupts)
    memmove(s->waiting, s->waiting + count, (size_t)s->clock->waiting * sizeof *s->waiting);
  else
    s->waiting += count;
}

void remove_waiting(struct state *s, int64_t at) {
  struct clock *clock = s->clock;
  if (clock->interrupts || at > clock->waiting / 2) {
    remove_at(s->waiting, &clock->waiting, at);
    return;
  }
  memmove(s->waiting + 1, s->waiting, (size_t)at * sizeof *s->waiting);
  remove_first_waiting(s, 1);
}

bool precedes(const struct state *s, int64_t slot, int64_t other) {
  if (s->clock->preempts && s->jobs[slot].tier != s->jobs[other].tier)
    return s->jobs[slot].tier > s->jobs[other].tier;
  return s->order[slot] < s->order[other] || (s->order[slot] == s->order[other] && slot < other);
}

int64_t waiting_place(const struct state *s, const int64_t *jobs, int64_t length, int64_t slot) {
  int64_t low = 0, high = length;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (precedes(s, jobs[middle], slot))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Returns where a job is, or belongs, in `running`.
static int64_t running_place(const struct state *s, int64_t slot) {
  int64_t low = 0, high = s->clock->running;
  double ends_s = s->jobs[slot].ends_s;
  while (low < high) {
    int64_t middle = (low + high) / 2, other = s->running[middle];
    double others_s = s->jobs[other].ends_s;
    if (others_s < ends_s || (others_s == ends_s && other < slot))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool ends_before(const struct state *s, int64_t slot, int64_t other) {
  double end_s = s->jobs[slot].end_s, others_s = s->jobs[other].end_s;
  return end_s < others_s || (end_s == others_s && slot < other);
}

static void push_end(struct state *s, int64_t slot) {
  int64_t at = s->clock->running;
  while (at > 0) {
    int64_t above = (at - 1) / 2;
    if (!ends_before(s, slot, s->heap[above])) break;
    s->heap[at] = s->heap[above];
    at = above;
  }
  s->heap[at] = slot;
}

static int64_t pop_end(struct state *s) {
  int64_t size = s->clock->running - 1, at = 0;
  int64_t first = s->heap[0], slot = s->heap[size];
  for (;;) {
    int64_t below = 2 * at + 1;
    if (below >= size) break;
    if (below + 1 < size && ends_before(s, s->heap[below + 1], s->heap[below])) below++;
    if (!ends_before(s, s->heap[below], slot)) break;
    s->heap[at] = s->heap[below];
    at = below;
  }
  s->heap[at] = slot;
  return first;
}

static void remove_end(struct state *s, int64_t slot) {
  int64_t at = 0;
  while (s->heap[at] != slot) at++;
  for (; at > 0; at = (at - 1) / 2) s->heap[at] = s->heap[(at - 1) / 2];  // as if it ended first
  s->heap[0] = slot;
  pop_end(s);
}

void add_running(struct state *s, int64_t slot) {
  push_end(s, slot);
  insert(s->running, &s->clock->running, running_place(s, slot), slot);
}

int64_t pop_running(struct state *s) {
  int64_t slot = pop_end(s);
  remove_at(s->running, &s->clock->running, running_place(s, slot));
  return slot;
}

void remove_running(struct state *s, int64_t slot) {
  remove_end(s, slot);
  remove_at(s->running, &s->clock->running, running_place(s, slot));
}
