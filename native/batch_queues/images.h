// Start-up from images: a node that has run a job's image starts the job warm.
#ifndef TRIMTAB_BATCH_QUEUES_IMAGES_H
#define TRIMTAB_BATCH_QUEUES_IMAGES_H

#include "state.h"

// Pulls or starts a job's image on a node once this is awake; returns how long the job waits. A job
// that comes while another one's pull goes on waits for its end.
double start_image(struct state *s, struct job *job, int64_t node, double wake_s);

// Returns how long a job waits for its image at most.
double longest_start_s(const struct state *s, const struct job *job);

#endif
