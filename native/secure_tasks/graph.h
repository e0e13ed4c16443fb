/* The graph of tasks that a run submitted, by what each reads and writes, for --record. */
#ifndef TRIMTAB_GRAPH_H
#define TRIMTAB_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "enclave.h"

struct graph;

/* Null where memory is short. `blocks` are all that arguments name. */
struct graph *graph_new(uint32_t blocks);

/* In the order in which tasks are submitted, by one thread: returns the task's number. */
uint32_t graph_add(struct graph *graph, const char *kind, const struct enclave_argument *arguments,
                   unsigned count);
/* All tasks before come before all tasks after: itself a task of no time, "barrier". */
void graph_barrier(struct graph *graph);

/* By any thread, while others may be added. */
void graph_ran(struct graph *graph, uint32_t task, double run_s);

/* Write one JSON line for each task and free the graph; false where the file cannot be written. */
bool graph_write(struct graph *graph, const char *path);

#endif
