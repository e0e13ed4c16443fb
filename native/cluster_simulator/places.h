// The placement rules of the policies. Each does the same operations in the same order as the policy
// object of its name (trimtab/policies), so both make the same choice to the last bit.
#ifndef TRIMTAB_CLUSTER_SIMULATOR_PLACES_H
#define TRIMTAB_CLUSTER_SIMULATOR_PLACES_H

#include "system.h"

struct place {
  int64_t node;  // NIL: the job waits, or stays
  int64_t level;
};

// Returns the place for the first job of a shape.
struct place place(struct system *s, const struct shape *shape);

// Returns the place to move a running job to.
struct place place_again(struct system *s, const struct job *job);

#endif
