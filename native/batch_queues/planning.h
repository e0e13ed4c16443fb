// Conservative backfilling: each waiting job has a reservation in a profile of free resources.
//
// The profile has, for each node type, what is free on its nodes together, by time, and one more has
// the power below the cap. A moldable job has the width that ends first. A reserved job whose nodes
// are too fragmented at its time waits for the next end of a job.
#ifndef TRIMTAB_BATCH_QUEUES_PLANNING_H
#define TRIMTAB_BATCH_QUEUES_PLANNING_H

#include "state.h"

// Returns whether the profile has space for all waiting and running jobs.
bool has_steps(const struct state *s);

// Reserves places for new jobs; where a job ended, all reservations are renewed.
void plan_waiting(struct state *s);

// Starts the waiting jobs whose time has come, or `one`; returns whether space sufficed.
bool start_planned(struct state *s, bool one);

// Returns the next time at which a reservation begins.
double next_planned_s(const struct state *s);

// Frees in the profile what a job that has ended early had until the end of its estimate.
void give_back_plan(struct state *s, const struct job *job);

// Takes in the profile what a job has from now to its estimated end.
void take_plan(struct state *s, const struct job *job);

#endif
