// Nodes that fall asleep, or are switched off, where they are idle for long, and wake up for jobs.
//
// The idle nodes of a type are in a list by the time since which they are idle, so those that fall
// asleep are the first ones.
#ifndef TRIMTAB_BATCH_QUEUES_SLEEPING_H
#define TRIMTAB_BATCH_QUEUES_SLEEPING_H

#include "state.h"

// Notes that a node has no parts from now on.
void note_idle(struct state *s, int64_t number, struct type *type);

// Lets the nodes sleep that have been idle for long by now.
void fall_asleep(struct state *s);

// Lets an idle node sleep that counts as drawing no more than this already.
void sleep_at_once(struct state *s, int64_t number, struct type *type);

// Returns when the next node falls asleep if no job needs it.
double next_sleep_s(const struct state *s);

// Takes an idle node for a job; returns how long it takes to wake up. A node that was off has no
// images.
double wake_up(struct state *s, int64_t number, struct type *type);

// Takes all images from a node.
void lose_images(struct state *s, int64_t number);

#endif
