// A queue before one server: one node, on which no two jobs fit.
//
// Until anything but an arrival or the end of a job happens, no search is needed: neither for a node,
// nor among events. The result is that of the event loop, to the last bit.
#ifndef TRIMTAB_CLUSTER_SIMULATOR_ONE_SERVER_H
#define TRIMTAB_CLUSTER_SIMULATOR_ONE_SERVER_H

#include "system.h"

// Returns whether one job runs at a time, wherever it is placed.
bool has_one_server(const struct system *s);

// Handles arrivals from `position` of `count`, starts and ends of jobs, as long as these happen
// before `until_s`. Returns the position reached.
int64_t serve_alone(struct system *s, const struct arrival *arrivals, int64_t count,
                    int64_t position, bool last, double until_s);

#endif
