// How long a job runs at its width, with its checkpoints and its image, and what of its work counts
// if it stops now.
//
// Run times of moldable jobs follow Amdahl's law: on n parts (s + (1 - s) / n) of that on one, with
// s the serial share.
#ifndef TRIMTAB_BATCH_QUEUES_RUN_TIMES_H
#define TRIMTAB_BATCH_QUEUES_RUN_TIMES_H

#include "state.h"

// Returns the run time on a type at a job's width, relative to the recorded one.
double slowdown(const struct state *s, const struct job *job, int64_t number);

// Returns how long a job has nodes of a type, at its width, for work of `work_s` as recorded.
double wall_s(const struct state *s, const struct job *job, int64_t number, double work_s);

// Returns how long a job has nodes of a type at most, by its estimate.
double longest_s(const struct state *s, const struct job *job, int64_t number);

// Writes into `run` what a running job did until a time; returns the rest of a begun checkpoint, 0
// where none is being written. Work since the last checkpoint is in `lost_s`.
double measure(const struct state *s, int64_t slot, double at_s, struct run *run);

#endif
