#include "running.h"

#include "capacity.h"
#include "energy.h"
#include "heap.h"
#include "queues.h"
#include "uniform.h"

static double speed_of(const struct system *s, const struct job *job) {
  return pace_of(s, shape_of(s, job)->job_class, s->nodes[job->node].type, job->level)->speed;
}

// Updates the sprint budget, before the number of sprinters changes.
static void settle_budget(struct system *s) {
  struct clock *clock = s->clock;
  double elapsed = clock->now_s - clock->budget_at_s;
  double rate = s->rules->replenish_s_per_s - (double)clock->sprinters;
  clock->budget_s = fmin(s->rules->budget_s, fmax(0.0, clock->budget_s + rate * elapsed));
  clock->budget_at_s = clock->now_s;
}

// Computes when the sprint budget will be empty, after the number of sprinters changed.
static void foresee_empty(struct system *s) {
  struct clock *clock = s->clock;
  double drain = (double)clock->sprinters - s->rules->replenish_s_per_s;
  clock->empty_s = drain > 0.0 ? clock->now_s + clock->budget_s / drain : INFINITY;
}

void end_sprint(struct system *s, struct job *job) {
  settle_budget(s);
  job->sprinting = 0;
  job->sprinted_s += s->clock->now_s - job->allocation_s;
  s->clock->sprinters--;
  foresee_empty(s);
}

void occupy(struct system *s, int64_t slot) {
  struct job *job = &s->jobs[slot];
  struct clock *clock = s->clock;
  job->gpus = take(s, job->node, shape_of(s, job));
  clock->running++;
  job->before = clock->last_running, job->after = NIL;
  if (clock->last_running == NIL)
    clock->first_running = slot;
  else
    s->jobs[clock->last_running].after = slot;
  clock->last_running = slot;
}

void begin(struct system *s, int64_t slot, int64_t number, int64_t level) {
  struct job *job = &s->jobs[slot];
  int64_t job_class = shape_of(s, job)->job_class;
  double now_s = s->clock->now_s, pull_s = site_of(s, job_class, s->nodes[number].type)->pull_s;
  const struct job_class *class = &s->classes[job_class];
  if (pull_s > 0.0 && has_image(s, job_class, number)) pull_s = 0.0;
  job->node = number, job->level = level, job->there = NIL;
  job->begun_s = job->allocation_s = now_s;
  if (isnan(job->first_s)) job->first_s = now_s;
  job->ready_s = job->since_s = now_s + pull_s + class->cold_start_s;
  job->set_up_s += job->ready_s - now_s;
  job->finish_s = job->ready_s + job->left_s / speed_of(s, job);
  job->sprint_s = now_s + class->sprint_after_s;
  job->switch_s = job->there_draw_s = INFINITY;
  job->drawing_since_s = job->there_drawing_since_s = INFINITY;
  job->draw_s = pull_s > 0.0 ? now_s + pull_s : INFINITY;
  if (pull_s == 0.0) draw_here(s, job);
}

void start(struct system *s, int64_t slot, int64_t number, int64_t level) {
  begin(s, slot, number, level);
  occupy(s, slot);
  schedule(s, slot);
}

static struct allocation_row *new_row(struct system *s, const struct job *job, enum ending end) {
  struct allocation_row *row = &s->allocations[s->clock->allocations++];
  row->job = job->job, row->cpu_milli = shape_of(s, job)->cpu;
  row->end_s = s->clock->now_s, row->end = end;
  return row;
}

void write_allocation(struct system *s, const struct job *job, enum ending end) {
  if (!s->rules->records_allocations) return;
  struct allocation_row *row = new_row(s, job, end);
  row->node = job->node, row->level = job->level, row->start_s = job->allocation_s;
  bool is_ready = job->ready_s <= s->clock->now_s;
  row->ready_s = is_ready ? fmax(job->ready_s, job->allocation_s) : NAN;
}

void advance(struct system *s, struct job *job) {
  double now_s = s->clock->now_s;
  if (now_s <= job->since_s) return;
  job->left_s = fmax(0.0, job->left_s - (now_s - job->since_s) * speed_of(s, job));
  job->since_s = now_s;
}

// Releases the place that a job was moving to.
static void forsake(struct system *s, struct job *job) {
  if (s->rules->records_allocations) {
    struct allocation_row *row = new_row(s, job, MIGRATED);
    row->node = job->there, row->level = job->there_level, row->start_s = job->there_since_s;
    row->ready_s = NAN;
  }
  stop_there(s, job);
  give_back(s, job->there, shape_of(s, job), job->there_gpus, job->there_since_s);
  job->there = NIL;
  job->there_draw_s = job->switch_s = INFINITY;
}

// Removes a job from its place, for any reason.
static void leave(struct system *s, int64_t slot, enum ending end) {
  struct job *job = &s->jobs[slot];
  struct clock *clock = s->clock;
  if (job->there != NIL) forsake(s, job);
  write_allocation(s, job, end);
  stop_here(s, job);
  give_back(s, job->node, shape_of(s, job), job->gpus, job->allocation_s);
  if (clock->now_s < job->ready_s) job->set_up_s -= job->ready_s - clock->now_s;
  if (job->sprinting) end_sprint(s, job);
  unschedule(s, slot);
  clock->running--;
  if (job->before == NIL)
    clock->first_running = job->after;
  else
    s->jobs[job->before].after = job->after;
  if (job->after == NIL)
    clock->last_running = job->before;
  else
    s->jobs[job->after].before = job->before;
}

void record(struct system *s, int64_t slot) {
  struct job *job = &s->jobs[slot];
  struct clock *clock = s->clock;
  const struct shape *shape = shape_of(s, job);
  s->rows[clock->rows++] = (struct finished_row){
      .job = job->job,
      .job_class = shape->job_class,
      .priority = shape->priority,
      .cpu_milli = shape->cpu,
      .arrival_s = job->arrival_s,
      .start_s = job->first_s,
      .finish_s = clock->now_s,
      .response_s = clock->now_s - job->arrival_s,
      .execution_s = job->kept_s + (clock->now_s - job->begun_s),
      .wasted_s = job->wasted_s,
      .set_up_s = job->set_up_s,
      .sprint_s = job->sprinted_s,
      .dropped_tasks = job->dropped,
      .evictions = job->evictions,
      .migrations = job->migrations,
      .node = job->node,
      .level = job->level,
      .energy_j = job->energy_j,
  };
  job->after = clock->free_slot;
  clock->free_slot = slot;
}

void finish(struct system *s, int64_t slot) {
  leave(s, slot, FINISHED);
  record(s, slot);
}

// Returns the service time of a job's attempt: that of a job of its class, drawn from the whole
// trace (trimtab/simulation/resampling.py).
static double resampled_s(const struct system *s, const struct job *job) {
  int64_t job_class = shape_of(s, job)->job_class, begin = s->works_from[job_class];
  double count = (double)(s->works_from[job_class + 1] - begin);
  double drawn = uniform(0, (uint64_t)job->job, RESAMPLING, (uint64_t)job->evictions, 0);
  return s->work_s[begin + (int64_t)(drawn * count)];
}

void evict(struct system *s, int64_t slot, enum ending end) {
  struct job *job = &s->jobs[slot];
  double spent_s = s->clock->now_s - job->begun_s;
  advance(s, job);
  leave(s, slot, end);
  job->evictions++;
  if (s->rules->resumes && end == EVICTED) {
    job->kept_s += spent_s;
  } else {
    job->wasted_s += job->kept_s + spent_s;
    job->kept_s = 0.0;
    if (s->rules->resamples) job->work_s = resampled_s(s, job);
    job->left_s = job->work_s;
  }
  join(s, slot);
}

void change_level(struct system *s, int64_t slot, int64_t level) {
  struct job *job = &s->jobs[slot];
  double now_s = s->clock->now_s;
  advance(s, job);
  write_allocation(s, job, LEVEL);
  s->nodes[job->node].busy_core_s +=
      (double)shape_of(s, job)->cpu * 1e-3 * (now_s - job->allocation_s);
  bool drew = job->drawing_since_s < INFINITY;
  stop_here(s, job);
  job->level = level, job->allocation_s = now_s;
  if (drew) draw_here(s, job);
  job->finish_s = job->since_s + job->left_s / speed_of(s, job);
  schedule(s, slot);
}

void sprint(struct system *s, int64_t slot) {
  struct job *job = &s->jobs[slot];
  job->sprint_s = INFINITY;
  settle_budget(s);
  int64_t level = resolved(s, s->nodes[job->node].type, s->rules->sprint_level);
  if (s->clock->budget_s > 0.0 && level != job->level) {
    change_level(s, slot, level);
    job->sprinting = 1;
    s->clock->sprinters++;
  } else {
    schedule(s, slot);
  }
  foresee_empty(s);
}

void stop_sprints(struct system *s) {
  for (int64_t slot = s->clock->first_running; slot != NIL; slot = s->jobs[slot].after) {
    struct job *job = &s->jobs[slot];
    if (!job->sprinting) continue;
    end_sprint(s, job);
    change_level(s, slot, resolved(s, s->nodes[job->node].type, s->rules->level));
  }
  s->clock->budget_s = 0.0;
}

void fail(struct system *s, int64_t number) {
  s->nodes[number].up = 0;
  s->nodes[number].down_since_s = s->clock->now_s;
  for (int64_t slot = s->clock->first_running, after; slot != NIL; slot = after) {
    struct job *job = &s->jobs[slot];
    after = job->after;
    if (job->node == number) {
      evict(s, slot, FAILED);
    } else if (job->there == number) {
      forsake(s, job);
      schedule(s, slot);
    }
  }
}
