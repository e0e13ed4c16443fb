#include "groups.h"

#include "lists.h"

// Sets a leaf, and the nodes above it.
static void set_leaf(struct state *s, int64_t slot, int64_t entry) {
  const struct job *job = &s->jobs[slot];
  const struct group *group = &s->groups[s->group[slot]];
  int64_t *tree = s->tree + group->first;
  int64_t at = group->leaves + job->leaf;
  tree[at] = entry;
  while (at > 1) {
    at /= 2;
    int64_t one = tree[2 * at], other = tree[2 * at + 1];
    bool second = one == NIL ||
                  (other != NIL && s->jobs[other].estimate_s < s->jobs[one].estimate_s);
    int64_t shortest = second ? other : one;
    if (tree[at] == shortest) return;
    tree[at] = shortest;
  }
}

static bool is_empty(const struct state *s, const struct group *group) {
  return s->tree[group->first + 1] == NIL;
}

void add_to_group(struct state *s, int64_t slot) {
  if (s->group_count == 0) return;
  struct group *group = &s->groups[s->group[slot]];
  group->untried = 1;
  if (!s->clock->trees) return;
  if (is_empty(s, group)) {
    group->place = s->clock->active;
    s->active[s->clock->active++] = s->group[slot];
  }
  set_leaf(s, slot, slot);
}

void take_from_group(struct state *s, int64_t slot) {
  if (!s->clock->trees) return;
  struct group *group = &s->groups[s->group[slot]];
  set_leaf(s, slot, NIL);
  if (!is_empty(s, group)) return;
  int64_t last = s->active[--s->clock->active];
  s->active[group->place] = last;
  s->groups[last].place = group->place;
}

int64_t next_in_group(const struct state *s, const struct group *group, int64_t leaf,
                      condition *is_met, int64_t number) {
  const int64_t *tree = s->tree + group->first;
  int64_t leaves = group->leaves, at = leaves + leaf;
  if (leaf >= leaves) return NIL;
  for (;;) {
    int64_t slot = tree[at];
    if (slot != NIL && (!is_met || is_met(s, &s->jobs[slot], number))) {
      if (at >= leaves) return slot;
      at *= 2;
      continue;
    }
    while (at % 2 == 1 && at > 1) at /= 2;  // up to a left one
    if (at == 1) return NIL;
    at++;
  }
}

void push_candidate(struct state *s, int64_t count, int64_t slot) {
  int64_t at = count;
  for (; at > 0 && precedes(s, slot, s->candidates[(at - 1) / 2]); at = (at - 1) / 2)
    s->candidates[at] = s->candidates[(at - 1) / 2];
  s->candidates[at] = slot;
}

void replace_candidate(struct state *s, int64_t count, int64_t slot) {
  if (slot == NIL) slot = s->candidates[--count];
  int64_t at = 0;
  for (int64_t below; (below = 2 * at + 1) < count; at = below) {
    if (below + 1 < count && precedes(s, s->candidates[below + 1], s->candidates[below])) below++;
    if (!precedes(s, s->candidates[below], slot)) break;
    s->candidates[at] = s->candidates[below];
  }
  s->candidates[at] = slot;
}
