#define _GNU_SOURCE
#include "run.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "graph.h"
#include "happens_before.h"
#include "sealing.h"

enum { ALIGNMENT = 64, PAGE = 4096 };

bool run_tasks;

static struct {
    struct options options;
    enclave_id enclave;
    struct graph *graph;
    struct sealer *owner;
    uint64_t *versions; /* of each block, as counted by its owner */
    uint32_t block_count, next_block;
    _Atomic uint64_t calls, bytes;
    _Atomic int error;
    uint32_t task_count;
    double run_s;
    void (*submit_all)(void); /* not passed on by libgomp, which the sanitizer does not see */
    char created, ended;      /* only their addresses: HAPPENS_BEFORE */
} run;

static _Noreturn void stop(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(FAILED);
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void create_enclave(size_t largest_numbers, const unsigned char *key) {
    size_t room = largest_numbers * sizeof(double) +
                  ENCLAVE_MOST_ARGUMENTS * (ENCLAVE_TAG_BYTES + ALIGNMENT) + PAGE;
    struct enclave_options options = {
        .kind = run.options.enclave,
        .functions = kernels,
        .function_count = KERNELS,
        .memory_bytes = room * run.options.workers + run.block_count * sizeof(uint64_t) + 2 * PAGE,
        .threads = run.options.workers,
        .key = key,
        .blocks = run.block_count,
        .costs = run.options.costs,
    };
    int error = enclave_create(&options, &run.enclave);
    if (error) stop(run.options.enclave, enclave_message(error));
}

void run_no_memory(void) {
    stop("blocks", "no memory left; a smaller --size needs less");
}

void run_prepare(const struct options *options, size_t largest_numbers, uint64_t blocks) {
    if (blocks > ENCLAVE_MOST_BLOCKS)
        refuse_option(options, "--block", "more than 4194304 blocks of data: take larger ones");
    run.options = *options;
    run.block_count = (uint32_t)blocks;
    run_tasks = options->tasks;
    unsigned char key[ENCLAVE_KEY_BYTES];
    if (options->sealed) {
        if (getrandom(key, sizeof key, 0) != sizeof key) stop("key", "no random numbers");
        run.owner = sealer_new(key);
        if (!run.owner) stop(options->variant, enclave_message(ENCLAVE_NO_CIPHER));
        run.versions = calloc(blocks, sizeof *run.versions);
        if (!run.versions) run_no_memory();
    }
    if (options->protected) create_enclave(largest_numbers, options->sealed ? key : NULL);
    explicit_bzero(key, sizeof key);
    if (options->record && !(run.graph = graph_new(blocks))) stop("--record", "no memory left");
}

struct blocks blocks_new(uint32_t count, size_t numbers) {
    size_t bytes = numbers * sizeof(double) + (run.options.sealed ? ENCLAVE_TAG_BYTES : 0);
    struct blocks blocks = {.numbers = numbers,
                            .bytes = bytes,
                            .stride = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
                            .first = run.next_block,
                            .count = count};
    run.next_block += count;
    if (run.next_block > run.block_count) stop("blocks", "more than were said");
    if (posix_memalign((void **)&blocks.data, PAGE, blocks.stride * count)) run_no_memory();
    memset(blocks.data, 0, blocks.stride * count);
    return blocks;
}

void block_write(struct blocks *blocks, uint32_t block, const double *numbers) {
    char *data = blocks->data + block * blocks->stride;
    memcpy(data, numbers, blocks->numbers * sizeof *numbers);
    if (!run.options.sealed) return;
    /* The enclave also counts from the first version, which is written only once. */
    uint64_t version = ++run.versions[blocks->first + block];
    if (version != 1 || !seal(run.owner, blocks->first + block, version, data, blocks->bytes))
        stop("blocks", "not sealed");
}

void block_read(const struct blocks *blocks, uint32_t block, double *numbers) {
    const char *data = blocks->data + block * blocks->stride;
    if (!run.options.sealed) {
        memcpy(numbers, data, blocks->numbers * sizeof *numbers);
        return;
    }
    char *copy = malloc(blocks->bytes);
    if (!copy) run_no_memory();
    memcpy(copy, data, blocks->bytes);
    uint32_t number = blocks->first + block;
    if (!unseal(run.owner, number, run.versions[number], copy, blocks->bytes))
        stop("result", enclave_message(ENCLAVE_ALTERED));
    memcpy(numbers, copy, blocks->numbers * sizeof *numbers);
    free(copy);
}

static struct enclave_argument argument(const struct blocks *blocks, uint32_t block,
                                        enum enclave_direction direction) {
    return (struct enclave_argument){blocks->data + block * blocks->stride, blocks->bytes,
                                     direction, blocks->first + block};
}

struct enclave_argument block_in(const struct blocks *blocks, uint32_t block) {
    return argument(blocks, block, ENCLAVE_IN);
}

struct enclave_argument block_out(const struct blocks *blocks, uint32_t block) {
    return argument(blocks, block, ENCLAVE_OUT);
}

struct enclave_argument block_inout(const struct blocks *blocks, uint32_t block) {
    return argument(blocks, block, ENCLAVE_INOUT);
}

struct work submitted(enum kernel kernel, unsigned count,
                      const struct enclave_argument *arguments) {
    struct work work = {.kernel = kernel, .task = run.task_count++, .count = count};
    for (unsigned i = 0; i < count; i++) {
        work.arguments[i] = arguments[i];
        if (run.options.sealed && arguments[i].direction & ENCLAVE_OUT)
            run.versions[arguments[i].block]++;
    }
    if (run.graph) work.task = graph_add(run.graph, kernel_names[kernel], arguments, count);
    HAPPENS_BEFORE(&run.created);
    return work;
}

static int perform_outside(const struct work *work) {
    void *data[ENCLAVE_MOST_ARGUMENTS];
    size_t bytes[ENCLAVE_MOST_ARGUMENTS];
    for (unsigned i = 0; i < work->count; i++) {
        data[i] = work->arguments[i].data;
        bytes[i] = work->arguments[i].bytes;
    }
    return kernels[work->kernel](data, bytes, work->count) ? ENCLAVE_FAILED : ENCLAVE_OK;
}

static int perform_inside(const struct work *work) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < work->count; i++)
        bytes += work->arguments[i].bytes * (work->arguments[i].direction == ENCLAVE_INOUT ? 2 : 1);
    atomic_fetch_add_explicit(&run.calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&run.bytes, bytes, memory_order_relaxed);
    return enclave_call(run.enclave, work->kernel, work->arguments, work->count);
}

void perform(struct work work) {
    if (run.error) return; /* later tasks have no valid inputs */
    HAPPENS_AFTER(&run.created);
    for (unsigned i = 0; i < work.count; i++) HAPPENS_AFTER(work.arguments[i].data);
    double begun_s = run.graph ? now_s() : 0;
    int error = run.options.protected ? perform_inside(&work) : perform_outside(&work);
    if (run.graph) graph_ran(run.graph, work.task, now_s() - begun_s);
    if (error) run.error = error;
    for (unsigned i = 0; i < work.count; i++) HAPPENS_BEFORE(work.arguments[i].data);
    HAPPENS_BEFORE(&run.ended);
}

void run_barrier(void) {
    HAPPENS_AFTER(&run.ended);
    if (run.graph) graph_barrier(run.graph);
}

/* For measuring the run from outside, without preparing data and checking. */
static void mark(const char *line) {
    if (!run.options.marks) return;
    puts(line);
    fflush(stdout);
}

void run_timed(void (*submit_all)(void)) {
    omp_set_dynamic(0);
    omp_set_num_threads((int)run.options.workers);
    run.submit_all = submit_all;
    /* Start the threads before the clock. */
    if (run.options.tasks) {
#pragma omp parallel
        HAPPENS_BEFORE(&run.created);
    }
    mark("tasks begin");
    double begun_s = now_s();
    if (!run.options.tasks) {
        run.submit_all();
    } else {
#pragma omp parallel
#pragma omp single
        {
            run.submit_all();
            HAPPENS_BEFORE(&run.ended);
        }
    }
    run.run_s = now_s() - begun_s;
    mark("tasks end");
    HAPPENS_AFTER(&run.ended);
}

int run_finish(bool correct) {
    const struct options *options = &run.options;
    if (run.error) stop(options->variant, enclave_message(run.error));
    if (options->record && !graph_write(run.graph, options->record))
        stop(options->record, "cannot be written");
    printf("{\"application\": \"%s\", \"variant\": \"%s\", ", options->application,
           options->variant);
    if (options->protected)
        printf("\"enclave\": \"%s\", \"protection\": \"%s\", ", options->enclave,
               enclave_described(run.enclave));
    else
        printf("\"enclave\": null, \"protection\": null, ");
    printf("\"size\": %zu, \"block\": %zu, \"workers\": %u, \"run_s\": %.9f, \"tasks\": %u, "
           "\"calls\": %llu, \"bytes\": %llu, \"correct\": %s}\n",
           options->size, options->block, options->workers, run.run_s, run.task_count,
           (unsigned long long)run.calls, (unsigned long long)run.bytes,
           correct ? "true" : "false");
    if (options->protected) enclave_destroy(run.enclave);
    sealer_free(run.owner);
    free(run.versions);
    return correct ? 0 : WRONG_RESULT;
}

double next_random(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / (double)(1ull << 53);
}
