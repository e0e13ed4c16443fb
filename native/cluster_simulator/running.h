// Events of placed jobs: start, finish, eviction, changes of level, sprints.
//
// The sprint budget is in seconds of one job's sprinting, and is replenished over time.
#ifndef TRIMTAB_CLUSTER_SIMULATOR_RUNNING_H
#define TRIMTAB_CLUSTER_SIMULATOR_RUNNING_H

#include "system.h"

// Begins an execution: pull the image if it is missing, start up, work.
void start(struct system *s, int64_t slot, int64_t node, int64_t level);

// Begins an execution, of a job that has its place: writes the job's own fields.
void begin(struct system *s, int64_t slot, int64_t node, int64_t level);

// Takes the place of a job, and adds the job to those that run.
void occupy(struct system *s, int64_t slot);

// Records the end of a job that has left its place, and frees its slot.
void record(struct system *s, int64_t slot);

// Ends a job, records it, and frees its slot.
void finish(struct system *s, int64_t slot);

// Sends a job back to its queue, where it resumes later or loses its work. On a failed node (`end`
// FAILED), work is lost even where evicted jobs resume.
void evict(struct system *s, int64_t slot, enum ending end);

// Subtracts the work done until now from a job's remaining work.
void advance(struct system *s, struct job *job);

// Records the end of a job's allocation at its node and level.
void write_allocation(struct system *s, const struct job *job, enum ending end);

// Continues a job at another frequency level.
void change_level(struct system *s, int64_t slot, int64_t level);

// Records the end of a job's sprint; its allocation has not been changed yet.
void end_sprint(struct system *s, struct job *job);

// Starts a sprint when a job's timer fires, given a budget and a faster level.
void sprint(struct system *s, int64_t slot);

// Returns all sprinting jobs to their levels: the budget is empty.
void stop_sprints(struct system *s);

// Takes a node down: its jobs return to their queues, moves to it are cancelled.
void fail(struct system *s, int64_t node);

#endif
