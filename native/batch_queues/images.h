// Start-up from images: a node keeps the layers that it pulled, and lacks those of other images.
#ifndef TRIMTAB_BATCH_QUEUES_IMAGES_H
#define TRIMTAB_BATCH_QUEUES_IMAGES_H

#include "state.h"

// Pulls the layers of a job's image that a node lacks, once this is awake, and starts the image;
// returns how long the job waits. A layer that another pull brings is waited for. The registry's
// link serves one pull after the other.
double start_image(struct state *s, struct job *job, int64_t node, double wake_s);

// Returns how long a job waits for its image at most, if nobody else uses the link.
double longest_start_s(const struct state *s, const struct job *job);

#endif
