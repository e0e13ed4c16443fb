/* Matrix multiplication, C = A B, of square tiles. */
#include <math.h>
#include <stdlib.h>

#include "run.h"

static size_t tiles, side;
static struct blocks left, right, result;

static void multiply(size_t i, size_t j, size_t k) {
    struct enclave_argument on[] = {block_in(&left, (uint32_t)(i * tiles + k)),
                                    block_in(&right, (uint32_t)(k * tiles + j)),
                                    block_inout(&result, (uint32_t)(i * tiles + j))};
    struct work work = submitted(MULTIPLY, 3, on);
    char *a = on[0].data, *b = on[1].data, *c = on[2].data;
#pragma omp task firstprivate(work) depend(in : *a, *b) depend(inout : *c) if (run_tasks)
    perform(work);
}

static void submit_all(void) {
    for (size_t k = 0; k < tiles; k++)
        for (size_t i = 0; i < tiles; i++)
            for (size_t j = 0; j < tiles; j++) multiply(i, j, k);
#pragma omp taskwait
}

static double *new_matrix(size_t size) {
    double *matrix = calloc(size * size, sizeof *matrix);
    if (!matrix) run_no_memory();
    return matrix;
}

static void write_tiles(struct blocks *blocks, const double *matrix, size_t size) {
    double *numbers = new_matrix(side);
    for (uint32_t block = 0; block < blocks->count; block++) {
        const double *corner = matrix + block / tiles * side * size + block % tiles * side;
        for (size_t at = 0; at < side * side; at++)
            numbers[at] = corner[at / side * size + at % side];
        block_write(blocks, block, numbers);
    }
    free(numbers);
}

static bool equal_tiles(const struct blocks *blocks, const double *matrix, size_t size) {
    double *numbers = new_matrix(side);
    bool equal = true;
    for (uint32_t block = 0; block < blocks->count && equal; block++) {
        const double *corner = matrix + block / tiles * side * size + block % tiles * side;
        block_read(blocks, block, numbers);
        for (size_t at = 0; at < side * side; at++) {
            double expected = corner[at / side * size + at % side];
            equal &= fabs(numbers[at] - expected) <= 1e-9 * (double)size;
        }
    }
    free(numbers);
    return equal;
}

int main(int count, char **words) {
    struct options options = options_of("matmul", false, count, words);
    size_t size = options.size;
    side = options.block;
    tiles = size / side;
    run_prepare(&options, 3 * side * side, 3 * (uint64_t)tiles * tiles);
    uint32_t blocks = (uint32_t)(tiles * tiles);
    left = blocks_new(blocks, side * side);
    right = blocks_new(blocks, side * side);
    result = blocks_new(blocks, side * side);
    double *a = new_matrix(size), *b = new_matrix(size), *c = new_matrix(size);
    for (size_t i = 0; i < size * size; i++) a[i] = next_random(), b[i] = next_random();
    write_tiles(&left, a, size);
    write_tiles(&right, b, size);
    write_tiles(&result, c, size);
    run_timed(submit_all);
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < size; k++)
            for (size_t j = 0; j < size; j++) c[i * size + j] += a[i * size + k] * b[k * size + j];
    bool correct = equal_tiles(&result, c, size);
    free(a), free(b), free(c);
    free(left.data), free(right.data), free(result.data);
    return run_finish(correct);
}
