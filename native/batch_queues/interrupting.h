// Interruptions: a job goes back to its place in the queue with the work that is left.
#ifndef TRIMTAB_BATCH_QUEUES_INTERRUPTING_H
#define TRIMTAB_BATCH_QUEUES_INTERRUPTING_H

#include "state.h"

// Takes a preempted job off its nodes: its last checkpoint is written.
void finish_leaving(struct state *s, int64_t slot);

// Takes a running job off its nodes, after a last checkpoint if it has any. Where it ends before
// that is written, or is leaving already, it stays.
void preempt(struct state *s, int64_t slot, enum cause cause);

// Interrupts the jobs on a node of a type, which is away until a time. A job whose checkpoint takes
// `notice_s` at most has begun one as late as it could. Until then, a stand-in has the whole node:
// the job of the node's number behind all jobs. The node loses its images, and draws what it does
// asleep, at most.
void reclaim(struct state *s, int64_t number, int64_t node, double back_s, double notice_s);

// Has a node again whose stand-in ended; it is asleep, where nodes sleep.
void give_back(struct state *s, int64_t slot);

// Notes that a job that gave way to another has left its nodes.
void stop_yielding(struct state *s, int64_t slot);

#endif
