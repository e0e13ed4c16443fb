// Places waiting jobs, in their order, while there is room.
//
// Before, no waiting job has room, except on nodes that got room since then, and those of shapes that
// have just begun to wait. So only these are tried. After many changes, or where jobs evict others or
// block those behind, every shape is tried.
#ifndef TRIMTAB_CLUSTER_SIMULATOR_DISPATCH_H
#define TRIMTAB_CLUSTER_SIMULATOR_DISPATCH_H

#include "system.h"

void dispatch(struct system *s);

#endif
