/* No isolation: ordinary memory. At the end of each call it waits for the run time that the calls,
 * copies and paging of a given enclave would add. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "backend.h"
#include "inside.h"

enum { PAGE_BYTES = 4096 };

struct model {
    struct inside *inside;
    size_t bytes;
    struct enclave_costs costs;
    size_t cached_pages;
    _Atomic uintptr_t cache[]; /* the page in each place of a direct-mapped cache */
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The number of pages that were not in the cache, and are now. */
static size_t faults(struct model *model, const struct enclave_argument *argument) {
    if (!model->cached_pages) return 0;
    size_t missed = 0;
    uintptr_t first = (uintptr_t)argument->data / PAGE_BYTES;
    uintptr_t last = ((uintptr_t)argument->data + argument->bytes - 1) / PAGE_BYTES;
    for (uintptr_t page = first; page <= last; page++)
        missed += atomic_exchange(&model->cache[page % model->cached_pages], page) != page;
    return missed;
}

static int modelled_call(void *state, unsigned thread, unsigned function,
                         const struct enclave_argument *arguments, unsigned count) {
    struct model *model = state;
    double added_s = model->costs.call_s;
    for (unsigned i = 0; i < count; i++) {
        unsigned copies = arguments[i].direction == ENCLAVE_INOUT ? 2 : 1;
        added_s += model->costs.byte_s * (double)arguments[i].bytes * copies +
                   model->costs.page_s * (double)faults(model, &arguments[i]);
    }
    int error = inside_run(model->inside, thread, function, arguments, count);
    double until_s = now_s() + added_s;
    while (now_s() < until_s) __builtin_ia32_pause();
    return error;
}

static void modelled_destroy(void *state) {
    struct model *model = state;
    inside_clear(model->inside);
    munmap(model->inside, model->bytes);
    free(model);
}

static int modelled_create(const struct enclave_options *options, void **state) {
    /* None: nothing is paged. */
    size_t pages = (options->costs.page_cache_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    struct model *model = calloc(1, sizeof *model + pages * sizeof *model->cache);
    if (!model) return ENCLAVE_SYSTEM;
    model->costs = options->costs;
    model->cached_pages = pages;
    model->bytes = options->memory_bytes;
    model->inside =
        mmap(NULL, model->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (model->inside == MAP_FAILED) {
        free(model);
        return ENCLAVE_SYSTEM;
    }
    int error = inside_place(model->inside, options);
    if (error)
        modelled_destroy(model);
    else
        *state = model;
    return error;
}

static bool modelled_holds(const void *state, const void *begin, size_t bytes) {
    const struct model *model = state;
    uintptr_t from = (uintptr_t)begin, inside = (uintptr_t)model->inside;
    return from < inside + model->bytes && inside < from + bytes;
}

static const char *modelled_described(const void *state) {
    (void)state;
    return "no isolation";
}

const struct backend backend_modelled = {
    "modelled",     modelled_create,    modelled_call,
    modelled_holds, modelled_described, modelled_destroy,
};
