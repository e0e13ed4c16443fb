#include "sleeping.h"

void note_idle(struct state *s, int64_t number, struct type *type) {
  struct node *node = &s->nodes[number];
  node->idle_s = s->clock->now_s;
  if (type->sleep_after_s == INFINITY) return;
  node->idle_before = type->last_idle, node->idle_after = NIL;
  if (type->last_idle == NIL)
    type->first_idle = number;
  else
    s->nodes[type->last_idle].idle_after = number;
  type->last_idle = number;
}

static void remove_idle(struct state *s, const struct node *node, struct type *type) {
  if (node->idle_before == NIL)
    type->first_idle = node->idle_after;
  else
    s->nodes[node->idle_before].idle_after = node->idle_after;
  if (node->idle_after == NIL)
    type->last_idle = node->idle_before;
  else
    s->nodes[node->idle_after].idle_before = node->idle_before;
}

void fall_asleep(struct state *s) {
  struct clock *clock = s->clock;
  for (struct type *type = s->types; type < s->types + s->type_count; type++) {
    while (type->first_idle != NIL) {
      struct node *first = &s->nodes[type->first_idle];
      if (first->idle_s + type->sleep_after_s > clock->now_s) break;
      remove_idle(s, first, type);
      first->asleep = 1;
      clock->power_mw -= type->saved_mw;
      if (is_capped(s)) clock->grown = 1;  // jobs that wait for power are tried again
    }
  }
}

void sleep_at_once(struct state *s, int64_t number, struct type *type) {
  struct node *node = &s->nodes[number];
  if (type->sleep_after_s == INFINITY) return;
  remove_idle(s, node, type);
  node->asleep = 1;
  node->idle_s = s->clock->now_s - type->sleep_after_s;
}

double next_sleep_s(const struct state *s) {
  double at_s = INFINITY;
  for (const struct type *type = s->types; type < s->types + s->type_count; type++)
    if (type->first_idle != NIL)
      at_s = fmin(at_s, s->nodes[type->first_idle].idle_s + type->sleep_after_s);
  return at_s;
}

double wake_up(struct state *s, int64_t number, struct type *type) {
  struct node *node = &s->nodes[number];
  if (type->sleep_after_s == INFINITY) return 0.0;
  if (!node->asleep) {
    remove_idle(s, node, type);
    return 0.0;
  }
  node->asleep = 0;
  node->asleep_s += s->clock->now_s - (node->idle_s + type->sleep_after_s);
  s->clock->power_mw += type->saved_mw;
  if (type->off) lose_images(s, number);
  return type->wake_s;
}

void lose_images(struct state *s, int64_t number) {
  for (int64_t layer = 0; layer < s->layer_count; layer++)
    s->ready_s[number * s->layer_count + layer] = INFINITY;
}
