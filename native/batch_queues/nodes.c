#include "nodes.h"

#include "images.h"
#include "power.h"
#include "sleeping.h"

int64_t fit(const struct state *s, const int64_t *row, const struct kind *kind, int64_t parts) {
  if (kind->cpu > row[CPU] || kind->memory > row[MEMORY]) return 0;
  if (kind->distinct) parts = least(parts, 1);
  if (parts > 1) {
    parts = least(parts, row[CPU] / kind->cpu);
    if (kind->memory > 0) parts = least(parts, row[MEMORY] / kind->memory);
  }
  if (kind->gpu == 0) return parts;
  int64_t on_gpus = 0;
  for (int64_t at = GPUS; at < s->resource_count; at++)
    on_gpus += kind->gpu >= WHOLE_GPU ? row[at] == WHOLE_GPU : row[at] / kind->gpu;
  if (kind->gpu >= WHOLE_GPU) on_gpus /= kind->gpu / WHOLE_GPU;
  return least(parts, on_gpus);
}

int64_t choose_gpus(const struct state *s, const int64_t *row, const struct kind *kind,
                    int64_t parts) {
  int64_t chosen = 0;
  if (kind->gpu >= WHOLE_GPU) {
    int64_t needed = parts * (kind->gpu / WHOLE_GPU);
    for (int64_t at = GPUS; at < s->resource_count; at++)
      if (needed > 0 && row[at] == WHOLE_GPU) {
        chosen |= (int64_t)1 << (at - GPUS);
        needed--;
      }
  } else if (kind->gpu > 0) {
    int64_t least_free = WHOLE_GPU + 1;
    for (int64_t at = GPUS; at < s->resource_count; at++)
      if (kind->gpu <= row[at] && row[at] < least_free) {
        least_free = row[at];
        chosen = (int64_t)1 << (at - GPUS);
      }
  }
  return chosen;
}

void change(const struct state *s, int64_t *row, const struct kind *kind, int64_t parts,
            int64_t gpus, int64_t sign) {
  row[CPU] += sign * parts * kind->cpu;
  row[MEMORY] += sign * parts * kind->memory;
  if (kind->gpu == 0) return;
  int64_t of_gpu = least(kind->gpu, WHOLE_GPU);
  for (int64_t at = GPUS; at < s->resource_count; at++)
    if ((gpus >> (at - GPUS)) & 1) row[at] += sign * of_gpu;
}

const int64_t *shared_row(struct state *s, int64_t node) {
  const int64_t *free = row_of(s, s->free, node), *later = row_of(s, s->later, node);
  for (int64_t at = 0; at < s->resource_count; at++) s->row[at] = least(free[at], later[at]);
  return s->row;
}

void note_change(struct state *s, int64_t node) {
  if (s->nodes[node].changed) return;
  s->nodes[node].changed = 1;
  s->changed[s->clock->changed++] = node;
}

void begin_sweep(struct state *s) {
  struct clock *clock = s->clock;
  clock->most_cpu = clock->most_memory = clock->most_gpu = 0;
  for (int64_t at = 0; at < clock->changed; at++) {
    const int64_t *row = row_of(s, s->free, s->changed[at]);
    clock->most_cpu = most(clock->most_cpu, row[CPU]);
    clock->most_memory = most(clock->most_memory, row[MEMORY]);
    int64_t free_gpu = 0;
    for (int64_t gpu = GPUS; gpu < s->resource_count; gpu++) free_gpu += row[gpu];
    clock->most_gpu = most(clock->most_gpu, free_gpu);
  }
}

void end_sweep(struct state *s) {
  for (int64_t at = 0; at < s->clock->changed; at++) s->nodes[s->changed[at]].changed = 0;
  s->clock->changed = 0;
  for (struct type *type = s->types; type < s->types + s->type_count; type++)
    type->swept = type->version;
}

static int64_t fit_on(struct state *s, int64_t node, const struct kind *kind, int64_t parts,
                      bool keeps) {
  const int64_t *row = keeps ? shared_row(s, node) : row_of(s, s->free, node);
  return fit(s, row, kind, parts);
}

// Chooses the first node for a part that had no room at the last sweep; returns 1, or 0.
static int64_t search_changed(struct state *s, const struct type *type, const struct kind *kind,
                              bool keeps) {
  int64_t first = NIL, end = type->first_node + type->nodes;
  for (int64_t at = 0; at < s->clock->changed; at++) {
    int64_t node = s->changed[at];
    if (node < type->first_node || node >= end || (first != NIL && node > first)) continue;
    if (fit_on(s, node, kind, 1, keeps) == 1) first = node;
  }
  s->chosen[0] = first, s->chosen[1] = 1;
  return first != NIL;
}

static int64_t search_all(struct state *s, struct type *type, const struct kind *kind,
                          int64_t parts, bool keeps) {
  int64_t end = type->first_node + type->nodes, count = 0;
  while (type->lowest < end && row_of(s, s->free, type->lowest)[CPU] == 0) type->lowest++;
  for (int64_t node = type->lowest; node < end; node++) {
    const int64_t *free = row_of(s, s->free, node);
    if (kind->cpu > free[CPU] || kind->memory > free[MEMORY]) continue;
    int64_t fitting = fit_on(s, node, kind, parts, keeps);
    if (fitting == 0) continue;
    s->chosen[2 * count] = node, s->chosen[2 * count + 1] = fitting;
    count++;
    parts -= fitting;
    if (parts == 0) return count;
  }
  return 0;
}

int64_t search(struct state *s, const struct job *job, int64_t number, bool keeps) {
  struct type *type = &s->types[number];
  const struct kind *kind = kind_of(s, job);
  int64_t parts = job->parts;
  if (parts * kind->cpu > type->cpu || parts * kind->memory > type->memory ||
      parts * kind->gpu > type->gpu)
    return 0;
  const struct site *site = site_of(s, job, number);
  int64_t failed_at = keeps ? site->kept_out_at : site->failed_at;
  int64_t failed_parts = keeps ? site->kept_out_parts : site->failed_parts;
  if (parts == 1 && failed_parts == 1 && failed_at >= type->swept)
    return search_changed(s, type, kind, keeps);
  return search_all(s, type, kind, parts, keeps);
}

// Puts parts on a node; returns how long it takes until they start.
static double occupy(struct state *s, struct job *job, int64_t number, struct type *type,
                     int64_t parts) {
  struct node *node = &s->nodes[number];
  double wake_s = node->parts == 0 ? wake_up(s, number, type) : 0.0;
  node->parts += parts;
  return start_image(s, job, number, wake_s);
}

void allocate(struct state *s, struct job *job, int64_t number, int64_t count, bool keeps) {
  struct type *type = &s->types[number];
  struct clock *clock = s->clock;
  const struct kind *kind = kind_of(s, job);
  job->first = NIL, job->nodes = count, job->waking_s = 0.0;
  job->startup_s = 0.0, job->pulls = 0, job->pulled_bytes = 0.0;
  for (int64_t at = 0; at < count; at++) {
    int64_t node = s->chosen[2 * at], left = s->chosen[2 * at + 1];
    job->waking_s = fmax(job->waking_s, occupy(s, job, node, type, left));
    int64_t together = 0 < kind->gpu && kind->gpu < WHOLE_GPU ? 1 : left;
    int64_t *free = row_of(s, s->free, node);
    for (; left > 0; left -= together) {
      int64_t gpus = choose_gpus(s, keeps ? shared_row(s, node) : free, kind, together);
      if (keeps) change(s, row_of(s, s->later, node), kind, together, gpus, -1);
      change(s, free, kind, together, gpus, -1);
      int64_t entry = clock->free;
      struct allocation *allocation = &s->allocations[entry];
      clock->free = allocation->next;
      clock->space--;
      *allocation = (struct allocation){node, together, gpus, job->first};
      job->first = entry;
    }
  }
  type->cpu -= job->parts * kind->cpu;
  type->memory -= job->parts * kind->memory;
  type->gpu -= job->parts * kind->gpu;
  draw(s, job, number);
}

// Takes parts off a node.
static void leave(struct state *s, int64_t number, struct type *type, int64_t parts) {
  s->nodes[number].parts -= parts;
  if (s->nodes[number].parts == 0) note_idle(s, number, type);
}

void release(struct state *s, struct job *job) {
  struct type *type = &s->types[job->type];
  struct clock *clock = s->clock;
  const struct kind *kind = kind_of(s, job);
  for (int64_t entry = job->first, next; entry != NIL; entry = next) {
    struct allocation *allocation = &s->allocations[entry];
    int64_t node = allocation->node;
    change(s, row_of(s, s->free, node), kind, allocation->parts, allocation->gpus, 1);
    type->lowest = least(type->lowest, node);
    leave(s, node, type, allocation->parts);
    note_change(s, node);
    next = allocation->next;
    if (clock->keeps) continue;
    allocation->next = clock->free;
    clock->free = entry;
    clock->space++;
  }
  type->cpu += job->parts * kind->cpu;
  type->memory += job->parts * kind->memory;
  type->gpu += job->parts * kind->gpu;
  type->version++;
  stop_drawing(s, job);
}
