// The GPUs of a node: a job has a share of one of them, or whole ones.
//
// A share is rounded up to slices, and lies on the GPU with the least room for it. More than a GPU is
// rounded up to whole ones, the first free ones. `gpus` has each GPU's free slices.
#ifndef TRIMTAB_CLUSTER_SIMULATOR_GPUS_H
#define TRIMTAB_CLUSTER_SIMULATOR_GPUS_H

#include "system.h"

// Returns the largest demand with room on a node, and the free thousandths in `total`, as if the job
// with the demand `gpu` on `gpus` (bits, 0 for none) had left.
int64_t largest_gpu(const struct system *s, int64_t node, int64_t gpus, int64_t gpu,
                    int64_t *total);

// Takes the GPUs of a job with the demand `gpu` on a node with room; returns them as bits.
int64_t take_gpus(struct system *s, int64_t node, int64_t gpu);

// Frees the GPUs, as bits, of a job with the demand `gpu` on a node.
void give_back_gpus(struct system *s, int64_t node, int64_t gpus, int64_t gpu);

#endif
