#include "graph.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_TASKS = 1 << 22 };

struct list {
    uint32_t *tasks, count, room;
};

struct node {
    const char *kind;
    double run_s;
    size_t bytes_in, bytes_out;
    struct list predecessors;
};

struct block {
    uint32_t writer; /* a task's number + 1, or 0 */
    struct list readers; /* since then */
};

struct graph {
    struct node *nodes; /* at a fixed place: other threads write to it meanwhile */
    struct block *blocks;
    uint32_t count, block_count;
    uint32_t barrier; /* a task's number + 1, or 0 */
};

static _Noreturn void give_up(const char *why) {
    fprintf(stderr, "--record: %s\n", why);
    exit(3);
}

static void append(struct list *list, uint32_t task) {
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 4;
        uint32_t *tasks = realloc(list->tasks, list->room * sizeof *tasks);
        if (!tasks) give_up("no memory left");
        list->tasks = tasks;
    }
    list->tasks[list->count++] = task;
}

static void append_new(struct list *list, uint32_t task) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->tasks[i] == task) return;
    append(list, task);
}

struct graph *graph_new(uint32_t blocks) {
    struct graph *graph = calloc(1, sizeof *graph);
    if (!graph) return NULL;
    graph->nodes = calloc(MOST_TASKS, sizeof *graph->nodes);
    graph->blocks = calloc(blocks, sizeof *graph->blocks);
    graph->block_count = blocks;
    if (graph->nodes && graph->blocks) return graph;
    free(graph->nodes);
    free(graph->blocks);
    free(graph);
    return NULL;
}

static struct node *next_node(struct graph *graph, const char *kind) {
    if (graph->count == MOST_TASKS) give_up("more tasks than fit a record");
    struct node *node = &graph->nodes[graph->count++];
    node->kind = kind;
    return node;
}

uint32_t graph_add(struct graph *graph, const char *kind, const struct enclave_argument *arguments,
                   unsigned count) {
    uint32_t number = graph->count;
    struct node *node = next_node(graph, kind);
    for (unsigned i = 0; i < count; i++) {
        struct block *block = &graph->blocks[arguments[i].block];
        if (block->writer) append_new(&node->predecessors, block->writer - 1);
        if (arguments[i].direction & ENCLAVE_IN) node->bytes_in += arguments[i].bytes;
        if (!(arguments[i].direction & ENCLAVE_OUT)) continue;
        node->bytes_out += arguments[i].bytes;
        for (uint32_t reader = 0; reader < block->readers.count; reader++)
            append_new(&node->predecessors, block->readers.tasks[reader]);
    }
    /* Afterwards, so that a task that reads a block twice does not precede itself. */
    for (unsigned i = 0; i < count; i++) {
        struct block *block = &graph->blocks[arguments[i].block];
        if (arguments[i].direction & ENCLAVE_OUT) {
            block->writer = number + 1;
            block->readers.count = 0;
        } else {
            append(&block->readers, number);
        }
    }
    if (graph->barrier && !node->predecessors.count)
        append(&node->predecessors, graph->barrier - 1);
    return number;
}

void graph_barrier(struct graph *graph) {
    uint32_t number = graph->count;
    struct node *node = next_node(graph, "barrier");
    /* For the tasks since the last barrier, or for that barrier if there are none. */
    uint32_t first = graph->barrier && graph->barrier == number ? number - 1 : graph->barrier;
    for (uint32_t task = first; task < number; task++)
        append(&node->predecessors, task);
    graph->barrier = number + 1;
    /* Later tasks wait for the barrier, and so for all tasks before it. */
    for (uint32_t block = 0; block < graph->block_count; block++) {
        graph->blocks[block].writer = 0;
        graph->blocks[block].readers.count = 0;
    }
}

void graph_ran(struct graph *graph, uint32_t task, double run_s) {
    graph->nodes[task].run_s = run_s;
}

bool graph_write(struct graph *graph, const char *path) {
    char partial[PATH_MAX];
    int length = snprintf(partial, sizeof partial, "%s.partial", path);
    FILE *file = length < (int)sizeof partial ? fopen(partial, "w") : NULL;
    for (uint32_t task = 0; task < graph->count; task++) {
        struct node *node = &graph->nodes[task];
        if (file)
            fprintf(file,
                    "{\"task\": %u, \"kind\": \"%s\", \"run_s\": %.9f, \"bytes_in\": %zu, "
                    "\"bytes_out\": %zu, \"predecessors\": [",
                    task, node->kind, node->run_s, node->bytes_in, node->bytes_out);
        for (uint32_t i = 0; file && i < node->predecessors.count; i++)
            fprintf(file, i ? ", %u" : "%u", node->predecessors.tasks[i]);
        if (file) fputs("]}\n", file);
        free(node->predecessors.tasks);
    }
    for (uint32_t block = 0; block < graph->block_count; block++)
        free(graph->blocks[block].readers.tasks);
    free(graph->nodes);
    free(graph->blocks);
    free(graph);
    if (!file) return false;
    bool whole = !ferror(file);
    if (fclose(file) || !whole || rename(partial, path)) {
        remove(partial);
        return false;
    }
    return true;
}
