/* Dot product of two vectors: a task for each pair of blocks gives a part, and the parts are
 * added. */
#include <math.h>
#include <stdlib.h>

#include "run.h"

static uint32_t parts;
static struct blocks left, right, sums;

static void dot(uint32_t part) {
    struct enclave_argument on[] = {block_in(&left, part), block_in(&right, part),
                                    block_out(&sums, part)};
    struct work work = submitted(DOT, 3, on);
    char *x = on[0].data, *y = on[1].data, *sum = on[2].data;
#pragma omp task firstprivate(work) depend(in : *x, *y) depend(out : *sum) if (run_tasks)
    perform(work);
}

static void submit_all(void) {
    for (uint32_t part = 0; part < parts; part++) dot(part);
#pragma omp taskwait
}

static double *random_block(struct blocks *blocks, uint32_t block, double *numbers) {
    for (size_t i = 0; i < blocks->numbers; i++) numbers[i] = next_random();
    block_write(blocks, block, numbers);
    return numbers;
}

int main(int count, char **words) {
    struct options options = options_of("dot_product", false, count, words);
    parts = (uint32_t)(options.size / options.block);
    run_prepare(&options, 2 * options.block + 1, 3 * (uint64_t)parts);
    left = blocks_new(parts, options.block);
    right = blocks_new(parts, options.block);
    sums = blocks_new(parts, 1);
    double *x = malloc(2 * options.block * sizeof *x), expected = 0, zero = 0;
    if (!x) run_no_memory();
    for (uint32_t part = 0; part < parts; part++) {
        const double *first = random_block(&left, part, x);
        const double *second = random_block(&right, part, x + options.block);
        for (size_t i = 0; i < options.block; i++) expected += first[i] * second[i];
        block_write(&sums, part, &zero);
    }
    run_timed(submit_all);
    double sum = 0;
    for (uint32_t part = 0; part < parts; part++) {
        double one;
        block_read(&sums, part, &one);
        sum += one;
    }
    free(x), free(left.data), free(right.data), free(sums.data);
    return run_finish(fabs(sum - expected) <= 1e-9 * expected);
}
