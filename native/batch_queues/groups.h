// Waiting jobs by group: jobs of a group have equal demands and differ in time alone. So where one
// of them has no room, nor have those behind it, but for shorter ones.
//
// Where the order of jobs is final, a group's jobs are the leaves of a binary tree, in order. Above are the shortest waiting ones: a
// node has the slot of the least estimate below it, NIL if none waits.
#ifndef TRIMTAB_BATCH_QUEUES_GROUPS_H
#define TRIMTAB_BATCH_QUEUES_GROUPS_H

#include "state.h"

// Returns whether a job meets a condition that all shorter ones of its group meet, too.
typedef bool condition(const struct state *s, const struct job *job, int64_t number);

// Adds a job that waits to its group, if it has any, or takes it out.
void add_to_group(struct state *s, int64_t slot);
void take_from_group(struct state *s, int64_t slot);

// Returns the first waiting job of a group, from a leaf on, that meets a condition on a node type
// (NULL: any); NIL if none does.
int64_t next_in_group(const struct state *s, const struct group *group, int64_t leaf,
                      condition *is_met, int64_t number);

// The first jobs of groups that may have room, as a heap: the next to be tried is the first.
void push_candidate(struct state *s, int64_t count, int64_t slot);

// Replaces the first of `count` candidates by another job; NIL: by the one behind them.
void replace_candidate(struct state *s, int64_t count, int64_t slot);

#endif
