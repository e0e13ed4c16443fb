#include "one_server.h"

#include "capacity.h"
#include "energy.h"
#include "heap.h"
#include "queues.h"
#include "running.h"

enum { MOST_SHAPES = 8 };  // few enough to look at each

// Returns whether the end is a running job's only event.
static bool only_ends(const struct job *job) {
  return job->draw_s == INFINITY && job->sprint_s == INFINITY && job->there == NIL &&
         !job->sprinting;
}

bool has_one_server(const struct system *s) {
  const struct node *node = s->nodes;
  const struct rules *rules = s->rules;
  int64_t least_cpu = s->queues[1].cpu;
  return s->node_count == 1 && node->up && node->gpu == 0 && s->queue_count <= 2 * MOST_SHAPES &&
         least_cpu > node->cpu / 2 && least_cpu < LAST && rules->placement == FIRST_FIT &&
         !rules->records_allocations && (rules->by_priority || !rules->evicts) &&
         s->clock->empty_s == INFINITY &&
         (s->clock->running == 0 || only_ends(&s->jobs[s->clock->first_running]));
}

static int64_t count_shapes(const struct system *s) {
  const struct queue *leaves = s->queues + s->queue_count / 2;
  int64_t count = 0;
  while (count < s->queue_count / 2 && leaves[count].cpu < LAST) count++;
  return count;
}

struct server {
  const struct arrival *next, *end;  // the arrivals that are left
  int64_t shapes, pending, running;  // NIL: it is free
  bool changed;                      // since the waiting jobs were tried
};

// Removes the running job from the node, the events and the list.
static struct server take_out(struct system *s, const struct arrival *next,
                              const struct arrival *end) {
  struct node *node = s->nodes;
  struct clock *clock = s->clock;
  struct server server = {next, end, count_shapes(s), clock->pending, clock->first_running, false};
  node->free_cpu = node->cpu, node->free_memory = node->memory;
  clock->first_running = clock->last_running = NIL;
  clock->running = clock->in_heap = 0;
  return server;
}

// Adds it again, and updates what follows from the waiting jobs.
static void put_in(struct system *s, const struct server *server) {
  struct clock *clock = s->clock;
  clock->pending = clock->waiting_cpu = clock->waiting_memory = 0;
  for (int64_t number = 0; number < server->shapes; number++) {
    const struct shape *shape = &s->shapes[number];
    clock->pending += shape->waiting;
    clock->waiting_cpu += shape->waiting * shape->cpu;
    clock->waiting_memory += shape->waiting * shape->memory;
    renew(s, number);
  }
  if (server->running == NIL) {
    refresh(s, 0);
  } else {
    s->jobs[server->running].heap = NIL;
    occupy(s, server->running);
    schedule(s, server->running);
  }
  if (server->changed) make_available(s, 0);
}

static double next_arrival_s(const struct server *server) {
  return server->next < server->end ? server->next->arrival_s : INFINITY;
}

// Lets the next job in. Returns whether it evicts the running one.
static bool admit(struct system *s, struct server *server) {
  s->clock->now_s = server->next->arrival_s;
  s->clock->events++;
  server->pending++;
  int64_t slot = enter(s, server->next++);
  struct job *job = &s->jobs[slot];
  struct shape *shape = shape_of(s, job);
  job->before = shape->last, job->after = NIL;
  if (shape->waiting++ > 0)
    s->jobs[shape->last].after = slot;
  else
    shape->first = slot;
  shape->last = slot;
  if (s->rules->evicts && server->running != NIL &&
      shape->priority > shape_of(s, &s->jobs[server->running])->priority)
    server->changed = true;
  return server->changed;
}

// Removes the job that is served next from those that wait.
static int64_t take_next(struct system *s, struct server *server) {
  int64_t number = 0;
  for (int64_t at = 1; at < server->shapes; at++)
    if (s->shapes[at].waiting > 0 && (s->shapes[number].waiting == 0 || is_before(s, at, number)))
      number = at;
  struct shape *shape = &s->shapes[number];
  int64_t slot = shape->first;
  shape->first = s->jobs[slot].after;
  if (--shape->waiting > 0)
    s->jobs[shape->first].before = NIL;
  else
    shape->last = NIL;
  server->pending--;
  return slot;
}

// Ends the running job, which is in no list.
static void end(struct system *s, struct server *server) {
  struct job *job = &s->jobs[server->running];
  double now_s = s->clock->now_s, cores = (double)shape_of(s, job)->cpu * 1e-3;
  s->clock->events++;
  stop_here(s, job);
  s->nodes[0].busy_core_s += cores * (now_s - job->allocation_s);
  record(s, server->running);
  server->running = NIL;
  server->changed = true;
}

int64_t serve_alone(struct system *s, const struct arrival *arrivals, int64_t count,
                    int64_t position, bool last, double until_s) {
  struct clock *clock = s->clock;
  struct server server = take_out(s, arrivals + position, arrivals + count);
  int64_t level = resolved(s, 0, s->rules->level);
  for (;;) {
    bool busy = server.running != NIL, full = false;
    double free_s = busy ? s->jobs[server.running].finish_s : next_arrival_s(&server);
    for (double arrival_s; (arrival_s = next_arrival_s(&server)) < free_s && !full;)
      full = arrival_s >= until_s || clock->free_slot == NIL || admit(s, &server);
    if (full || (server.next == server.end && !last) || free_s >= until_s ||
        (busy && clock->rows == s->row_space))
      break;
    clock->now_s = free_s;
    if (busy) end(s, &server);
    while (next_arrival_s(&server) == free_s && clock->free_slot != NIL) {
      admit(s, &server);
      server.changed = true;
    }
    if (next_arrival_s(&server) == free_s || (server.next == server.end && !last)) break;
    server.changed = false;
    if (server.pending == 0) continue;
    server.running = take_next(s, &server);
    begin(s, server.running, 0, level);
    if (!only_ends(&s->jobs[server.running])) break;
  }
  put_in(s, &server);
  return server.next - arrivals;
}
