#include "stream.h"

#include <math.h>
#include <stdlib.h>

struct stream stream;

static void fill(struct blocks *blocks, double *all, size_t block) {
    for (uint32_t part = 0; part < stream.parts; part++) {
        double *numbers = all + part * block;
        for (size_t i = 0; i < block; i++) numbers[i] = next_random();
        block_write(blocks, part, numbers);
    }
}

static bool equal(const struct blocks *blocks, const double *all, double *numbers) {
    bool equal = true;
    for (uint32_t part = 0; part < stream.parts; part++) {
        const double *expected = all + part * blocks->numbers;
        block_read(blocks, part, numbers);
        for (size_t i = 0; i < blocks->numbers; i++)
            equal &= fabs(numbers[i] - expected[i]) <= 1e-12 * fabs(expected[i]);
    }
    return equal;
}

int stream_main(const char *application, void (*submit_all)(void), int count, char **words) {
    struct options options = options_of(application, false, count, words);
    size_t size = options.size, block = options.block;
    stream.parts = (uint32_t)(size / block);
    run_prepare(&options, 3 * block, 3 * (uint64_t)stream.parts);
    stream.a = blocks_new(stream.parts, block);
    stream.b = blocks_new(stream.parts, block);
    stream.c = blocks_new(stream.parts, block);
    double *a = malloc((3 * size + block) * sizeof *a);
    if (!a) run_no_memory();
    double *b = a + size, *c = b + size, *numbers = c + size;
    fill(&stream.a, a, block);
    fill(&stream.b, b, block);
    fill(&stream.c, c, block);
    run_timed(submit_all);
    for (unsigned repeat = 0; repeat < STREAM_REPEATS; repeat++) {
        for (size_t i = 0; i < size; i++) c[i] = a[i];
        for (size_t i = 0; i < size; i++) b[i] = STREAM_FACTOR * c[i];
        for (size_t i = 0; i < size; i++) c[i] = a[i] + b[i];
        for (size_t i = 0; i < size; i++) a[i] = b[i] + STREAM_FACTOR * c[i];
    }
    bool correct = equal(&stream.a, a, numbers) && equal(&stream.b, b, numbers) &&
                   equal(&stream.c, c, numbers);
    free(a), free(stream.a.data), free(stream.b.data), free(stream.c.data);
    return run_finish(correct);
}
