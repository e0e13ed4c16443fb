// Migration: the new place is set up while the old one works, then the job continues there. Where
// the policy restarts moved jobs, all of its work is done again there, and no state moves.
#ifndef TRIMTAB_CLUSTER_SIMULATOR_MOVES_H
#define TRIMTAB_CLUSTER_SIMULATOR_MOVES_H

#include "system.h"

// Continues at the new place, after a pause of `pause_s` for moving state, or starts again.
void continue_there(struct system *s, int64_t slot, double pause_s);

// Handles the arrival of the image, or the state, at a job's node.
void draw_at_node(struct system *s, int64_t slot);

// Handles the arrival of the image at the node that a job moves to.
void draw_at_new_node(struct system *s, int64_t slot);

// Moves running jobs, the longest-running first, to places that the policy prefers (Rocha's thesis,
// algorithm 3). Jobs in set-up or migration stay.
void reconsider(struct system *s);

#endif
