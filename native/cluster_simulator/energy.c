#include "energy.h"

static double load_factor(const struct system *s, const struct node *node) {
  if (s->kinds[node->type].linear || node->drawing_cpu == 0) return 1.0;
  double load = (double)node->drawing_cpu / (double)node->cpu;
  int64_t below = least((int64_t)(load * 10.0), 9);
  double low = s->load_curve[node->type * 11 + below];
  double high = s->load_curve[node->type * 11 + below + 1];
  return (low + (high - low) * (load * 10.0 - (double)below)) / load;
}

static void integrate(struct node *node, double now_s) {
  double elapsed = now_s - node->at_s;
  node->at_s = now_s;
  node->factor_s += elapsed * node->factor;
  node->active_j += elapsed * (node->factor * node->watts + node->gpu_watts);
}

// Starts a task's power draw; writes its watts, and its GPUs' watts.
static void draw(struct system *s, struct node *node, const struct shape *shape, int64_t level,
                 double *watts, double *gpu_watts) {
  const struct service_rate *pace = pace_of(s, shape->job_class, node->type, level);
  *watts = (double)shape->cpu / (double)node->cpu * pace->watts;
  *gpu_watts = (double)shape->gpu * 1e-3 * pace->gpu_watts;
  integrate(node, s->clock->now_s);
  node->drawing++;
  node->drawing_cpu += shape->cpu;
  node->watts += *watts;
  node->gpu_watts += *gpu_watts;
  node->factor = load_factor(s, node);
}

// Ends a task's power draw.
static void stop(struct system *s, struct node *node, const struct shape *shape, double watts,
                 double gpu_watts) {
  integrate(node, s->clock->now_s);
  node->drawing--;
  node->drawing_cpu -= shape->cpu;
  node->watts -= watts;
  node->gpu_watts -= gpu_watts;
  if (node->drawing == 0) node->watts = node->gpu_watts = 0.0;  // removes rounding errors
  node->factor = load_factor(s, node);
}

void draw_here(struct system *s, struct job *job) {
  struct node *node = &s->nodes[job->node];
  draw(s, node, shape_of(s, job), job->level, &job->drawing_w, &job->drawing_gpu_w);
  job->drawing_since_s = s->clock->now_s, job->drawing_from = node->factor_s;
}

void stop_here(struct system *s, struct job *job) {
  if (job->drawing_since_s == INFINITY) return;
  struct node *node = &s->nodes[job->node];
  stop(s, node, shape_of(s, job), job->drawing_w, job->drawing_gpu_w);
  job->energy_j += job->drawing_w * (node->factor_s - job->drawing_from);
  job->energy_j += job->drawing_gpu_w * (s->clock->now_s - job->drawing_since_s);
  job->drawing_since_s = INFINITY;
}

void draw_there(struct system *s, struct job *job) {
  struct node *node = &s->nodes[job->there];
  draw(s, node, shape_of(s, job), job->there_level, &job->there_w, &job->there_gpu_w);
  job->there_drawing_since_s = s->clock->now_s, job->there_drawing_from = node->factor_s;
}

void stop_there(struct system *s, struct job *job) {
  if (job->there_drawing_since_s == INFINITY) return;
  struct node *node = &s->nodes[job->there];
  stop(s, node, shape_of(s, job), job->there_w, job->there_gpu_w);
  job->energy_j += job->there_w * (node->factor_s - job->there_drawing_from);
  job->energy_j += job->there_gpu_w * (s->clock->now_s - job->there_drawing_since_s);
  job->there_drawing_since_s = INFINITY;
}
