// EASY's reservation: when and where the first waiting job gets its nodes by the estimates.
#ifndef TRIMTAB_BATCH_QUEUES_RESERVATION_H
#define TRIMTAB_BATCH_QUEUES_RESERVATION_H

#include "state.h"

// Reserves nodes of the type that has them first for a job; ties: the preferred one.
void reserve(struct state *s, int64_t slot);

#endif
