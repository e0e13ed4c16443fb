#include "starting.h"

#include "lists.h"
#include "nodes.h"
#include "power.h"
#include "run_times.h"

// Updates what a user has used until now.
static struct user *used(struct state *s, const struct job *job) {
  struct user *user = &s->users[job->user];
  const struct clock *clock = s->clock;
  double elapsed_s = clock->now_s - user->at_s;
  if (elapsed_s > 0.0) {
    double kept = pow(0.5, elapsed_s / clock->half_life_s);
    double lasting_s = clock->half_life_s / 0.6931471805599453;  // the integral of the decay
    user->usage_s = user->usage_s * kept + user->share * lasting_s * (1.0 - kept);
    user->at_s = clock->now_s;
  }
  return user;
}

// The share of the cluster at a job's width.
static double share_of(const struct job *job) {
  return job->share * ((double)job->parts / (double)job->least_parts);
}

bool has_space(const struct state *s, const struct job *job) {
  int64_t gpu = kind_of(s, job)->gpu;
  bool shares = 0 < gpu && gpu < WHOLE_GPU;  // each part has an allocation of its own
  return s->clock->space >= (shares ? job->most_parts : least(job->most_parts, s->node_count));
}

// Chooses nodes of a type for a job; returns how many. What fails is remembered by kind.
static int64_t choose_nodes(struct state *s, const struct job *job, int64_t number, bool keeps) {
  int64_t version = s->types[number].version;
  struct site *site = site_of(s, job, number);
  if (site->failed_at == version && job->parts >= site->failed_parts) return 0;
  if (keeps && site->kept_out_at == version && job->parts >= site->kept_out_parts) return 0;
  int64_t count = search(s, job, number, keeps);
  if (count > 0) return count;
  int64_t *failed_at = keeps ? &site->kept_out_at : &site->failed_at;
  int64_t *failed_parts = keeps ? &site->kept_out_parts : &site->failed_parts;
  *failed_parts = *failed_at == version ? least(*failed_parts, job->parts) : job->parts;
  *failed_at = version;
  return 0;
}

static void start(struct state *s, int64_t slot, int64_t number, int64_t count, bool keeps) {
  struct job *job = &s->jobs[slot];
  double now_s = s->clock->now_s;
  allocate(s, job, number, count, keeps);
  job->type = number;
  job->start_s = now_s;
  job->end_s = now_s + job->waking_s + wall_s(s, job, number, job->run_s);
  job->ends_s = now_s + job->waking_s + wall_s(s, job, number, job->estimate_s);
  used(s, job)->share += share_of(job);
  add_running(s, slot);
}

bool start_on(struct state *s, int64_t slot, int64_t number, bool keeps) {
  const struct job *job = &s->jobs[slot];
  int64_t count = choose_nodes(s, job, number, keeps);
  if (count == 0 || (is_capped(s) && !can_wake(s, job, number, count))) return false;
  start(s, slot, number, count, keeps);
  return true;
}

// Returns how many of a job's parts have room on a type now.
static int64_t parts_with_room(struct state *s, const struct job *job, int64_t number, bool keeps) {
  const struct type *type = &s->types[number];
  const struct kind *kind = kind_of(s, job);
  int64_t left = job->most_parts;
  for (int64_t node = type->lowest; node < type->first_node + type->nodes && left > 0; node++) {
    const int64_t *free = row_of(s, s->free, node);
    if (kind->cpu > free[CPU]) continue;
    left -= fit(s, keeps ? shared_row(s, node) : free, kind, left);
  }
  return job->most_parts - left;
}

void widen(struct state *s, struct job *job, int64_t number, bool keeps) {
  const struct clock *clock = s->clock;
  job->parts = job->least_parts;
  if (job->serial_share == 1.0) return;
  int64_t parts = parts_with_room(s, job, number, keeps);
  int64_t part_mw = site_of(s, job, number)->part_mw;
  if (is_capped(s) && part_mw > 0)
    parts = least(parts, (clock->cap_mw - clock->power_mw) / part_mw);
  job->parts = most(parts, job->least_parts);
}

int64_t end_first(struct state *s) {
  int64_t slot = pop_running(s);
  free_nodes(s, slot);
  return slot;
}

void free_nodes(struct state *s, int64_t slot) {
  struct job *job = &s->jobs[slot];
  release(s, job);
  used(s, job)->share -= share_of(job);
  s->clock->grown = 1;
}

bool start_assigned(struct state *s) {
  struct clock *clock = s->clock;
  int64_t kept = 0;
  bool enough = true;
  for (int64_t at = 0; at < clock->waiting; at++) {
    int64_t slot = s->waiting[at];
    int64_t *target = &s->progress[slot].target;
    if (enough && *target != NIL) {
      enough = has_space(s, &s->jobs[slot]);
      if (enough && start_on(s, slot, *target, false)) {
        *target = NIL;
        continue;
      }
    }
    s->waiting[kept++] = slot;
  }
  clock->waiting = kept;
  clock->fresh = 0;
  return enough;
}
