// Free resources of nodes, and the search for the first node with room.
//
// Each node type has a binary tree over its nodes. An entry has the largest free CPU, GPU and memory
// of the nodes below, so a search skips full nodes.
#ifndef TRIMTAB_CLUSTER_SIMULATOR_CAPACITY_H
#define TRIMTAB_CLUSTER_SIMULATOR_CAPACITY_H

#include "system.h"

// Updates the search tree with a node's free resources; none, if it is down.
void refresh(struct system *s, int64_t node);

// Reserves the request of a job of `shape` on a node; returns its GPUs as bits.
int64_t take(struct system *s, int64_t node, const struct shape *shape);

// Has waiting jobs tried on a node that has got room.
void make_available(struct system *s, int64_t node);

// Frees the resources and `gpus`, as bits, that a job of `shape` held on a node.
void give_back(struct system *s, int64_t node, const struct shape *shape, int64_t gpus,
               double since_s);

// Returns the lowest number of a node of a type with room, with or without the job's image, except
// `but`; or NIL.
int64_t first_with_room(const struct system *s, int64_t kind, const struct shape *shape,
                        enum image image, int64_t but);

// Returns the lowest number of a node of any type with room, from `number` on; or NIL.
int64_t next_with_room(const struct system *s, const struct shape *shape, int64_t number);

// Records that a node has the image of a class.
void bring_image(struct system *s, int64_t node, int64_t job_class);

#endif
