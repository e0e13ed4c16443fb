#include "moves.h"

#include "capacity.h"
#include "energy.h"
#include "heap.h"
#include "places.h"
#include "running.h"

void continue_there(struct system *s, int64_t slot, double pause_s) {
  struct job *job = &s->jobs[slot];
  const struct shape *shape = shape_of(s, job);
  double now_s = s->clock->now_s;
  bool restarts = s->rules->restarts_moved;
  advance(s, job);
  write_allocation(s, job, MIGRATED);
  stop_here(s, job);
  give_back(s, job->node, shape, job->gpus, job->allocation_s);
  if (job->sprinting) end_sprint(s, job);
  if (restarts) pause_s = 0.0;
  if (pause_s > 0.0) {
    stop_there(s, job);
    job->draw_s = now_s + pause_s;
  } else {
    job->drawing_w = job->there_w, job->drawing_gpu_w = job->there_gpu_w;
    job->drawing_since_s = job->there_drawing_since_s;
    job->drawing_from = job->there_drawing_from;
    job->there_drawing_since_s = INFINITY;
  }
  job->node = job->there, job->level = job->there_level, job->allocation_s = job->there_since_s;
  job->gpus = job->there_gpus, job->there = NIL;
  job->there_draw_s = job->switch_s = INFINITY;
  job->migrations++;
  if (restarts) {
    job->wasted_s += job->kept_s + (now_s - job->begun_s);
    job->kept_s = 0.0, job->left_s = job->work_s, job->begun_s = now_s;
  }
  job->ready_s = job->since_s = now_s + pause_s;
  job->set_up_s += job->ready_s - now_s;
  int64_t kind = s->nodes[job->node].type;
  job->finish_s = job->ready_s + job->left_s / pace_of(s, shape->job_class, kind, job->level)->speed;
  schedule(s, slot);
}

// Reserves a new place for a job and begins its set-up.
static void move(struct system *s, int64_t slot, struct place to) {
  struct job *job = &s->jobs[slot];
  const struct shape *shape = shape_of(s, job);
  double now_s = s->clock->now_s;
  job->there_gpus = take(s, to.node, shape);
  job->there = to.node, job->there_level = to.level, job->there_since_s = now_s;
  if (s->rules->free_migration) {
    draw_there(s, job);
    continue_there(s, slot, 0.0);
    return;
  }
  double pull_s = site_of(s, shape->job_class, s->nodes[to.node].type)->pull_s;
  if (has_image(s, shape->job_class, to.node)) pull_s = 0.0;
  job->switch_s = now_s + pull_s + s->classes[shape->job_class].cold_start_s;
  if (pull_s > 0.0)
    job->there_draw_s = now_s + pull_s;
  else
    draw_there(s, job);
  schedule(s, slot);
}

void draw_at_node(struct system *s, int64_t slot) {
  struct job *job = &s->jobs[slot];
  job->draw_s = INFINITY;
  bring_image(s, job->node, shape_of(s, job)->job_class);
  draw_here(s, job);
  schedule(s, slot);
}

void draw_at_new_node(struct system *s, int64_t slot) {
  struct job *job = &s->jobs[slot];
  job->there_draw_s = INFINITY;
  bring_image(s, job->there, shape_of(s, job)->job_class);
  draw_there(s, job);
  schedule(s, slot);
}

// Returns whether waiting jobs have priority. Rocha's thesis, section 3.3.4: running jobs are not
// reconsidered while the queue is not empty and the cluster's free capacity is above the sum of its
// requests.
static bool is_held(const struct system *s) {
  const struct clock *clock = s->clock;
  if (clock->pending == 0) return false;
  int64_t cpu = clock->waiting_cpu, gpu = clock->waiting_gpu, memory = clock->waiting_memory;
  for (const struct node *node = s->nodes; node < s->nodes + s->node_count; node++) {
    if (!node->up) continue;
    cpu -= node->free_cpu;
    gpu -= node->free_gpu;
    memory -= node->free_memory;
  }
  return cpu < 0 && gpu <= 0 && memory < 0;
}

void reconsider(struct system *s) {
  if (s->rules->hold_when_pending && is_held(s)) return;
  for (int64_t slot = s->clock->first_running; slot != NIL; slot = s->jobs[slot].after) {
    const struct job *job = &s->jobs[slot];
    if (job->ready_s > s->clock->now_s || job->there != NIL) continue;
    struct place to = place_again(s, job);
    if (to.node == NIL) continue;
    if (to.node != job->node)
      move(s, slot, to);
    else if (to.level != job->level)
      change_level(s, slot, to.level);
  }
}
