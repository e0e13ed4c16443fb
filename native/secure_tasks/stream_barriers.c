/* Stream with barriers: tasks of one kind are independent, and all wait for the previous kind. */
#include "stream.h"

static void one(enum kernel kernel, const struct blocks *x, const struct blocks *y) {
    for (uint32_t part = 0; part < stream.parts; part++) {
        struct enclave_argument on[] = {block_in(x, part), block_out(y, part)};
        struct work work = submitted(kernel, 2, on);
#pragma omp task firstprivate(work) if (run_tasks)
        perform(work);
    }
#pragma omp taskwait
    run_barrier();
}

static void two(enum kernel kernel, const struct blocks *x, const struct blocks *y,
                const struct blocks *z) {
    for (uint32_t part = 0; part < stream.parts; part++) {
        struct enclave_argument on[] = {block_in(x, part), block_in(y, part), block_out(z, part)};
        struct work work = submitted(kernel, 3, on);
#pragma omp task firstprivate(work) if (run_tasks)
        perform(work);
    }
#pragma omp taskwait
    run_barrier();
}

static void submit_all(void) {
    for (unsigned repeat = 0; repeat < STREAM_REPEATS; repeat++) {
        one(COPY, &stream.a, &stream.c);
        one(SCALE, &stream.c, &stream.b);
        two(ADD, &stream.a, &stream.b, &stream.c);
        two(TRIAD, &stream.b, &stream.c, &stream.a);
    }
}

int main(int count, char **words) {
    return stream_main("stream_barriers", submit_all, count, words);
}
