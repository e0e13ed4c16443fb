#include "heap.h"

static void put(struct system *s, int64_t at, struct heap_entry entry) {
  s->heap[at] = entry;
  s->jobs[entry.slot].heap = at;
}

static bool is_earlier(const struct heap_entry *one, const struct heap_entry *other) {
  return one->time_s < other->time_s || (one->time_s == other->time_s && one->order < other->order);
}

static void rise(struct system *s, int64_t at, struct heap_entry entry) {
  while (at > 0) {
    int64_t above = (at - 1) >> 1;
    if (!is_earlier(&entry, &s->heap[above])) break;
    put(s, at, s->heap[above]);
    at = above;
  }
  put(s, at, entry);
}

static void sink(struct system *s, int64_t at, struct heap_entry entry) {
  int64_t size = s->clock->in_heap;
  for (int64_t child; (child = 2 * at + 1) < size; at = child) {
    if (child + 1 < size && is_earlier(&s->heap[child + 1], &s->heap[child])) child++;
    if (is_earlier(&entry, &s->heap[child])) break;
    put(s, at, s->heap[child]);
  }
  put(s, at, entry);
}

static void settle(struct system *s, int64_t at, struct heap_entry entry) {
  if (at > 0 && is_earlier(&entry, &s->heap[(at - 1) >> 1]))
    rise(s, at, entry);
  else
    sink(s, at, entry);
}

static void take_if_earlier(struct heap_entry *entry, double time_s, enum event event) {
  if (time_s < entry->time_s) entry->time_s = time_s, entry->order = event;
}

void schedule(struct system *s, int64_t slot) {
  struct job *job = &s->jobs[slot];
  struct heap_entry entry = {job->finish_s, FINISH, slot};
  take_if_earlier(&entry, job->draw_s, DRAW);
  take_if_earlier(&entry, job->there_draw_s, DRAW_THERE);
  take_if_earlier(&entry, job->switch_s, SWITCH);
  take_if_earlier(&entry, job->sprint_s, SPRINT);
  entry.order = (entry.order << EVENT_SHIFT) | job->job;
  if (job->heap == NIL)
    rise(s, s->clock->in_heap++, entry);
  else
    settle(s, job->heap, entry);
}

void unschedule(struct system *s, int64_t slot) {
  int64_t at = s->jobs[slot].heap, size = --s->clock->in_heap;
  s->jobs[slot].heap = NIL;
  if (at < size) settle(s, at, s->heap[size]);
}
