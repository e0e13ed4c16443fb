// Room on nodes: how many parts of a job fit, which GPUs they get, and the search for nodes.
#ifndef TRIMTAB_BATCH_QUEUES_NODES_H
#define TRIMTAB_BATCH_QUEUES_NODES_H

#include "state.h"

// Returns how many parts of a kind fit the free resources of a node, up to `parts`.
int64_t fit(const struct state *s, const int64_t *row, const struct kind *kind, int64_t parts);

// Returns GPUs for parts of a kind that fit, as bits. Whole GPUs are the first free ones. A share of
// a GPU is of one part, on the GPU with the least room for it.
int64_t choose_gpus(const struct state *s, const int64_t *row, const struct kind *kind,
                    int64_t parts);

// Takes (`sign` -1) or gives back (1) the resources of parts on a node.
void change(const struct state *s, int64_t *row, const struct kind *kind, int64_t parts,
            int64_t gpus, int64_t sign);

// Returns a row, for a moment, of what a node has free both now and at the shadow time.
const int64_t *shared_row(struct state *s, int64_t node);

// Notes that a node's room may have grown.
void note_change(struct state *s, int64_t node);

// Finds what changed nodes have free at most.
void begin_sweep(struct state *s);

// Notes that all waiting jobs have been tried.
void end_sweep(struct state *s);

// Chooses nodes of a type for a job at its width; returns how many nodes, 0 without room. `keeps`:
// they leave the reservation alone (`later`). The nodes are in `chosen`.
int64_t search(struct state *s, const struct job *job, int64_t number, bool keeps);

// Gives a job the `count` chosen nodes of a type. `keeps`: its parts are still there at the shadow
// time.
void allocate(struct state *s, struct job *job, int64_t number, int64_t count, bool keeps);

// Frees the nodes of a job.
void release(struct state *s, struct job *job);

#endif
