#include "gpus.h"

static int64_t slices_of(const struct system *s, int64_t node) {
  return s->kinds[s->nodes[node].type].gpu_slices;
}

// Returns the slices that a job with the demand `gpu` takes of each of its GPUs.
static int64_t slices_for(int64_t slices, int64_t gpu) {
  return gpu >= WHOLE_GPU ? slices : (gpu * slices + WHOLE_GPU - 1) / WHOLE_GPU;
}

// Returns the GPUs for a job with the demand `gpu` on a node with room, as bits.
static int64_t choose(const struct system *s, int64_t node, int64_t gpu) {
  int64_t slices = slices_of(s, node), asked = slices_for(slices, gpu);
  int64_t left = (gpu + WHOLE_GPU - 1) / WHOLE_GPU, chosen = 0, least_free = slices + 1;
  for (int64_t at = 0; at < s->nodes[node].gpu / WHOLE_GPU; at++) {
    int64_t free = s->gpus[node * s->gpu_count + at];
    if (gpu >= WHOLE_GPU) {
      if (left > 0 && free == slices) {
        chosen |= (int64_t)1 << at;
        left--;
      }
    } else if (asked <= free && free < least_free) {
      chosen = (int64_t)1 << at, least_free = free;
    }
  }
  return chosen;
}

int64_t largest_gpu(const struct system *s, int64_t node, int64_t gpus, int64_t gpu,
                    int64_t *total) {
  int64_t slices = slices_of(s, node), back = slices_for(slices, gpu), largest = 0, whole = 0;
  *total = 0;
  for (int64_t at = 0; at < s->nodes[node].gpu / WHOLE_GPU; at++) {
    int64_t free = s->gpus[node * s->gpu_count + at] + ((gpus >> at) & 1) * back;
    int64_t milli = free * WHOLE_GPU / slices;
    *total += milli;
    largest = most(largest, milli);
    if (free == slices) whole += WHOLE_GPU;
  }
  return most(largest, whole);
}

// Adds free slices to each of `gpus`, bits, of a node.
static void change(struct system *s, int64_t number, int64_t gpus, int64_t slices) {
  struct node *node = &s->nodes[number];
  double elapsed = (s->clock->now_s - node->gpu_at_s) * 1e-3;
  int64_t whole = node->largest_gpu >= WHOLE_GPU ? node->largest_gpu : 0;
  node->free_gpu_s += elapsed * (double)node->free_gpu;
  node->fragmented_gpu_s += elapsed * (double)(node->free_gpu - whole);
  node->gpu_at_s = s->clock->now_s;
  for (int64_t at = 0; at < node->gpu / WHOLE_GPU; at++)
    s->gpus[number * s->gpu_count + at] += ((gpus >> at) & 1) * slices;
  node->largest_gpu = largest_gpu(s, number, 0, 0, &node->free_gpu);
}

int64_t take_gpus(struct system *s, int64_t node, int64_t gpu) {
  int64_t gpus = choose(s, node, gpu);
  change(s, node, gpus, -slices_for(slices_of(s, node), gpu));
  return gpus;
}

void give_back_gpus(struct system *s, int64_t node, int64_t gpus, int64_t gpu) {
  change(s, node, gpus, slices_for(slices_of(s, node), gpu));
}
