#include "places.h"

#include <string.h>

#include "capacity.h"
#include "uniform.h"

// As of trimtab/policies/kubernetes.py.
enum { LEAST_CPU_MILLI = 100, LEAST_MEMORY_BYTES = 200 * 1024 * 1024 };

static int64_t first_fit(const struct system *s, const struct shape *shape) {
  return next_with_room(s, shape, 0);
}

static double energy_weight(const struct system *s, const struct shape *shape, int64_t job) {
  if (!s->rules->random_weights) return s->classes[shape->job_class].energy_weight;
  uint64_t state = mixed(s->rules->weight_seed + (uint64_t)(job + 1) * GOLDEN);
  return (double)(state >> 11) * 0x1p-53;
}

// What HEATS compares: a place with its energy and its performance.
struct option {
  struct place place;
  double energy_j, performance;
};

// Returns the first nodes with room of a type: without the image, with it, the job's own. Nodes of
// one type differ only in the image, so the first one represents the others.
static void find_candidates(const struct system *s, const struct shape *shape, int64_t own) {
  for (int64_t kind = 0; kind < s->kind_count; kind++) {
    int64_t *nodes = &s->candidates[3 * kind];
    bool images = s->rules->scores_images;
    nodes[WITHOUT] = images ? first_with_room(s, kind, shape, WITHOUT, own) : NIL;
    nodes[WITH] = first_with_room(s, kind, shape, images ? WITH : ANY, own);
    nodes[2] = NIL;
  }
  if (own != NIL) s->candidates[3 * s->nodes[own].type + 2] = own;
}

static struct option option_of(const struct system *s, const struct shape *shape, int64_t kind,
                               int image, int64_t level) {
  const struct class_on_type *site = site_of(s, shape->job_class, kind);
  double more_s = image == WITHOUT ? site->absent_s : image == WITH ? site->present_s : 0.0;
  double more_j = image == WITHOUT ? site->absent_j : image == WITH ? site->present_j : 0.0;
  const struct service_rate *pace = pace_of(s, shape->job_class, kind, level);
  return (struct option){{s->candidates[3 * kind + image], level},
                         pace->energy_j + more_j,
                         1.0 / (pace->run_time_s + more_s)};
}

static int64_t lowest_level(const struct system *s, int64_t kind) {
  return s->rules->choose_level ? 0 : s->kinds[kind].levels - 1;
}

// Returns the best place; writes its score less that of the job's present place into `gain`, NaN
// where it has none.
static struct place heats(const struct system *s, const struct shape *shape, int64_t job,
                          struct place own, double *gain) {
  find_candidates(s, shape, own.node);
  double most_j = 0.0, most_performance = 0.0;
  for (int64_t kind = 0; kind < s->kind_count; kind++)
    for (int image = 0; image < 3; image++) {
      if (s->candidates[3 * kind + image] == NIL) continue;
      for (int64_t level = lowest_level(s, kind); level < s->kinds[kind].levels; level++) {
        struct option option = option_of(s, shape, kind, image, level);
        most_j = fmax(most_j, option.energy_j);
        most_performance = fmax(most_performance, option.performance);
      }
    }
  double weight = energy_weight(s, shape, job), best_score = 0.0, own_score = NAN;
  struct place best = {NIL, 0};
  for (int64_t kind = 0; kind < s->kind_count; kind++)
    for (int image = 0; image < 3; image++) {
      int64_t node = s->candidates[3 * kind + image];
      if (node == NIL) continue;
      for (int64_t level = lowest_level(s, kind); level < s->kinds[kind].levels; level++) {
        struct option option = option_of(s, shape, kind, image, level);
        double score = weight * (1.0 - option.energy_j / most_j) +
                       (1.0 - weight) * (option.performance / most_performance);
        if (node == own.node && level == own.level) own_score = score;
        if (best.node == NIL || score > best_score || (score == best_score && node < best.node))
          best = option.place, best_score = score;
      }
    }
  *gain = best_score - own_score;
  return best;
}

// Returns the first node with room of the best-scoring types; `own` has room.
static int64_t of_best_type(const struct system *s, const struct shape *shape, int64_t own) {
  int64_t best = NIL;
  double best_score = 0.0;
  for (int64_t kind = 0; kind < s->kind_count; kind++) {
    int64_t node = first_with_room(s, kind, shape, ANY, own);
    if (own != NIL && s->nodes[own].type == kind && (node == NIL || own < node)) node = own;
    if (node != NIL && (best == NIL || s->kinds[kind].score > best_score))
      best = node, best_score = s->kinds[kind].score;
  }
  return best;
}

static int64_t unused_percent(int64_t used, int64_t capacity) {
  return used > capacity ? 0 : (capacity - used) * 100 / capacity;
}

static int64_t points(const struct shape *shape, const struct node *node) {
  int64_t cpu_used = node->cpu - node->free_cpu, memory_used = node->memory - node->free_memory;
  int64_t asked_cpu = shape->cpu ? shape->cpu : LEAST_CPU_MILLI;
  int64_t asked_memory = shape->memory ? shape->memory : LEAST_MEMORY_BYTES;
  int64_t unused = (unused_percent(cpu_used + asked_cpu, node->cpu) +
                    unused_percent(memory_used + asked_memory, node->memory)) /
                   2;
  double cpu_share = (double)(cpu_used + shape->cpu) / (double)node->cpu;
  double memory_share = (double)(memory_used + shape->memory) / (double)node->memory;
  return unused + (int64_t)((1.0 - fabs((cpu_share - memory_share) / 2.0)) * 100.0);
}

static int64_t kubernetes(struct system *s, const struct shape *shape) {
  int64_t count = s->node_count, begin = s->clock->next_node;
  int64_t best = NIL, best_points = -1, found = 0;
  for (int turn = 0; turn < 2; turn++) {  // from the beginning on, then the nodes before
    int64_t end = turn == 0 ? count : begin;
    int64_t number = next_with_room(s, shape, turn == 0 ? begin : 0);
    for (; number != NIL && number < end; number = next_with_room(s, shape, number + 1)) {
      int64_t its_points = points(shape, &s->nodes[number]);
      if (its_points > best_points || (its_points == best_points && number < best))
        best = number, best_points = its_points;
      if (++found < s->rules->nodes_to_find) continue;
      s->clock->next_node = (number + 1) % count;
      return best;
    }
  }
  return best;
}

struct place place(struct system *s, const struct shape *shape) {
  int64_t node;
  double gain;
  switch (s->rules->placement) {
    case HEATS:
      return heats(s, shape, s->jobs[shape->first].job, (struct place){NIL, 0}, &gain);
    case FIRST_FIT:
      node = first_fit(s, shape);
      break;
    case HEATS_AS_RELEASED:
      node = of_best_type(s, shape, NIL);
      break;
    default:
      node = kubernetes(s, shape);
  }
  if (node == NIL) return (struct place){NIL, 0};
  return (struct place){node, resolved(s, s->nodes[node].type, s->rules->level)};
}

struct place place_again(struct system *s, const struct job *job) {
  const struct shape *shape = shape_of(s, job);
  if (s->rules->placement == HEATS) {
    double gain;
    struct place best = heats(s, shape, job->job, (struct place){job->node, job->level}, &gain);
    if (gain > s->rules->migration_gain) return best;
  } else if (s->rules->placement == HEATS_AS_RELEASED) {
    int64_t node = of_best_type(s, shape, job->node), kind = s->nodes[node].type;
    if (kind != s->nodes[job->node].type)
      return (struct place){node, resolved(s, kind, s->rules->level)};
  }
  return (struct place){NIL, 0};
}
