#include "capacity.h"

#include "gpus.h"

void refresh(struct system *s, int64_t number) {
  const struct node *node = &s->nodes[number];
  const struct kind *kind = &s->kinds[node->type];
  struct free *tree = s->tree + kind->tree;
  int64_t at = kind->leaves + number - kind->first_node;
  tree[at] = node->up ? (struct free){node->free_cpu, node->largest_gpu, node->free_memory}
                      : (struct free){-1, -1, -1};
  for (at >>= 1; at > 0; at >>= 1) {
    const struct free *left = &tree[2 * at], *right = left + 1;
    struct free below = {most(left->cpu, right->cpu), most(left->gpu, right->gpu),
                         most(left->memory, right->memory)};
    if (tree[at].cpu == below.cpu && tree[at].gpu == below.gpu && tree[at].memory == below.memory)
      break;
    tree[at] = below;
  }
}

int64_t take(struct system *s, int64_t number, const struct shape *shape) {
  struct node *node = &s->nodes[number];
  node->free_cpu -= shape->cpu;
  node->free_memory -= shape->memory;
  int64_t gpus = shape->gpu > 0 ? take_gpus(s, number, shape->gpu) : 0;
  refresh(s, number);
  return gpus;
}

void make_available(struct system *s, int64_t number) {
  struct clock *clock = s->clock;
  struct node *node = &s->nodes[number];
  if (clock->pending == 0 || node->freed) return;
  node->freed = 1;
  s->freed[clock->freed++] = number;
  clock->changed = 1;
}

void give_back(struct system *s, int64_t number, const struct shape *shape, int64_t gpus,
               double since_s) {
  struct node *node = &s->nodes[number];
  node->free_cpu += shape->cpu;
  node->free_memory += shape->memory;
  if (shape->gpu > 0) give_back_gpus(s, number, gpus, shape->gpu);
  node->busy_core_s += (double)shape->cpu * 1e-3 * (s->clock->now_s - since_s);
  if (!node->up) return;
  refresh(s, number);
  make_available(s, number);
}

// As first_with_room, beginning with the leaf `at` of the tree, or with 1 for the first.
static int64_t search(const struct system *s, int64_t number, const struct shape *shape,
                      enum image image, int64_t but, int64_t at) {
  if (!site_of(s, shape->job_class, number)->runs) return NIL;
  const struct kind *kind = &s->kinds[number];
  const struct free *tree = s->tree + kind->tree;
  for (;;) {
    if (fits(shape, tree[at].cpu, tree[at].gpu, tree[at].memory)) {
      if (at < kind->leaves) {
        at = 2 * at;
        continue;
      }
      int64_t node = kind->first_node + at - kind->leaves;
      if (node != but &&
          (image == ANY || has_image(s, shape->job_class, node) == (image == WITH)))
        return node;
    }
    while (at & 1) at >>= 1;  // skip the subtree: up from right children, then to the sibling
    if (at == 0) return NIL;
    at++;
  }
}

int64_t next_with_room(const struct system *s, const struct shape *shape, int64_t number) {
  for (int64_t at = 0; at < s->kind_count; at++) {
    const struct kind *kind = &s->kinds[at];
    if (number >= kind->first_node + kind->nodes) continue;
    int64_t leaf = number > kind->first_node ? kind->leaves + number - kind->first_node : 1;
    int64_t found = search(s, at, shape, ANY, NIL, leaf);
    if (found != NIL) return found;
  }
  return NIL;
}

int64_t first_with_room(const struct system *s, int64_t kind, const struct shape *shape,
                        enum image image, int64_t but) {
  int64_t lacking = s->lacking[shape->job_class * s->kind_count + kind];
  if (image == WITHOUT && lacking == 0) return NIL;
  if (image == WITH && lacking == s->kinds[kind].nodes) return NIL;
  return search(s, kind, shape, image, but, 1);
}

void bring_image(struct system *s, int64_t node, int64_t job_class) {
  if (has_image(s, job_class, node)) return;
  s->images[job_class * s->node_count + node] = 1;
  s->lacking[job_class * s->kind_count + s->nodes[node].type]--;
}
