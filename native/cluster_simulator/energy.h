// Exact integrals of power over time; power is constant between events.
//
// A node's active power is f(u) times the sum of its tasks' core power, plus its GPUs' power. Here u
// is the share of its active cores and f(u) = load curve / u. All tasks of the node share f, so its
// integral over time, kept with the node, gives each task's energy at its end.
#ifndef TRIMTAB_CLUSTER_SIMULATOR_ENERGY_H
#define TRIMTAB_CLUSTER_SIMULATOR_ENERGY_H

#include "system.h"

// Starts a job's power draw at its place.
void draw_here(struct system *s, struct job *job);

// Ends that power draw, if any, and adds the energy to the job's.
void stop_here(struct system *s, struct job *job);

// Starts a job's power draw at the place that it moves to.
void draw_there(struct system *s, struct job *job);

// Ends that power draw, if any, and adds the energy to the job's.
void stop_there(struct system *s, struct job *job);

#endif
