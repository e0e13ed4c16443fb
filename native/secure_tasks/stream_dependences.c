/* Stream with dependences only: kinds interleave, each block when its own inputs are ready. */
#include "stream.h"

static void one(enum kernel kernel, const struct blocks *from, const struct blocks *to) {
    for (uint32_t part = 0; part < stream.parts; part++) {
        struct enclave_argument on[] = {block_in(from, part), block_out(to, part)};
        struct work work = submitted(kernel, 2, on);
        char *x = on[0].data, *y = on[1].data;
#pragma omp task firstprivate(work) depend(in : *x) depend(out : *y) if (run_tasks)
        perform(work);
    }
}

static void two(enum kernel kernel, const struct blocks *first, const struct blocks *second,
                const struct blocks *to) {
    for (uint32_t part = 0; part < stream.parts; part++) {
        struct enclave_argument on[] = {block_in(first, part), block_in(second, part),
                                        block_out(to, part)};
        struct work work = submitted(kernel, 3, on);
        char *x = on[0].data, *y = on[1].data, *z = on[2].data;
#pragma omp task firstprivate(work) depend(in : *x, *y) depend(out : *z) if (run_tasks)
        perform(work);
    }
}

static void submit_all(void) {
    for (unsigned repeat = 0; repeat < STREAM_REPEATS; repeat++) {
        one(COPY, &stream.a, &stream.c);
        one(SCALE, &stream.c, &stream.b);
        two(ADD, &stream.a, &stream.b, &stream.c);
        two(TRIAD, &stream.b, &stream.c, &stream.a);
    }
#pragma omp taskwait
}

int main(int count, char **words) {
    return stream_main("stream_dependences", submit_all, count, words);
}
