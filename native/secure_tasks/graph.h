/* The graph of a run's tasks, by their reads and writes, for --record. */
#ifndef TRIMTAB_GRAPH_H
#define TRIMTAB_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "enclave.h"

struct graph;

/* Null without memory. `blocks` is the number of blocks in all arguments. */
struct graph *graph_new(uint32_t blocks);

/* Called by one thread in the order of submission: returns the task's number. */
uint32_t graph_add(struct graph *graph, const char *kind, const struct enclave_argument *arguments,
                   unsigned count);
/* All earlier tasks precede all later ones: the barrier is a task without run time, "barrier". */
void graph_barrier(struct graph *graph);

/* Called by any thread, while others may be added. */
void graph_ran(struct graph *graph, uint32_t task, double run_s);

/* Write one JSON line for each task and free the graph; false if the file cannot be written. */
bool graph_write(struct graph *graph, const char *path);

#endif
