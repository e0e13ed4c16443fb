/* Blocked Cholesky factorization, A = L L', of the tiles of the lower triangle. */
#include <math.h>
#include <stdlib.h>

#include "run.h"

static size_t tiles, side;
static struct blocks lower; /* tile (i, j), j <= i, is number i (i + 1) / 2 + j */

static uint32_t tile(size_t i, size_t j) {
    return (uint32_t)(i * (i + 1) / 2 + j);
}

static void potrf(size_t k) {
    struct enclave_argument on[] = {block_inout(&lower, tile(k, k))};
    struct work work = submitted(POTRF, 1, on);
    char *a = on[0].data;
#pragma omp task firstprivate(work) depend(inout : *a) if (run_tasks)
    perform(work);
}

static void trsm(size_t i, size_t k) {
    struct enclave_argument on[] = {block_in(&lower, tile(k, k)), block_inout(&lower, tile(i, k))};
    struct work work = submitted(TRSM, 2, on);
    char *l = on[0].data, *a = on[1].data;
#pragma omp task firstprivate(work) depend(in : *l) depend(inout : *a) if (run_tasks)
    perform(work);
}

static void syrk(size_t i, size_t k) {
    struct enclave_argument on[] = {block_in(&lower, tile(i, k)), block_inout(&lower, tile(i, i))};
    struct work work = submitted(SYRK, 2, on);
    char *a = on[0].data, *c = on[1].data;
#pragma omp task firstprivate(work) depend(in : *a) depend(inout : *c) if (run_tasks)
    perform(work);
}

static void gemm(size_t i, size_t j, size_t k) {
    struct enclave_argument on[] = {block_in(&lower, tile(i, k)), block_in(&lower, tile(j, k)),
                                    block_inout(&lower, tile(i, j))};
    struct work work = submitted(GEMM, 3, on);
    char *a = on[0].data, *b = on[1].data, *c = on[2].data;
#pragma omp task firstprivate(work) depend(in : *a, *b) depend(inout : *c) if (run_tasks)
    perform(work);
}

static void submit_all(void) {
    for (size_t k = 0; k < tiles; k++) {
        potrf(k);
        for (size_t i = k + 1; i < tiles; i++) trsm(i, k);
        for (size_t i = k + 1; i < tiles; i++) {
            for (size_t j = k + 1; j < i; j++) gemm(i, j, k);
            syrk(i, k);
        }
    }
#pragma omp taskwait
}

/* Symmetric, and positive definite by a dominant diagonal. */
static double *random_matrix(size_t size) {
    double *a = malloc(size * size * sizeof *a);
    if (!a) run_no_memory();
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j <= i; j++)
            a[i * size + j] = a[j * size + i] = next_random() + (i == j ? (double)size : 0);
    return a;
}

/* Column by column, without tiles, in place in the lower triangle. */
static void reference(double *a, size_t size) {
    for (size_t j = 0; j < size; j++)
        for (size_t i = j; i < size; i++) {
            double sum = a[i * size + j];
            for (size_t k = 0; k < j; k++) sum -= a[i * size + k] * a[j * size + k];
            a[i * size + j] = i == j ? sqrt(sum) : sum / a[j * size + j];
        }
}

/* Copy tile (i, j) of the symmetric matrix to `numbers`. */
static void cut(const double *a, size_t size, size_t i, size_t j, double *numbers) {
    for (size_t row = 0; row < side; row++)
        for (size_t column = 0; column < side; column++)
            numbers[row * side + column] = a[(i * side + row) * size + j * side + column];
}

static bool equal(const double *numbers, const double *a, size_t size, size_t i, size_t j) {
    for (size_t row = 0; row < side; row++)
        for (size_t column = 0; column < side; column++) {
            size_t of_row = i * side + row, of_column = j * side + column;
            double expected = of_column > of_row ? 0 : a[of_row * size + of_column];
            if (!(fabs(numbers[row * side + column] - expected) <= 1e-9 * (double)size))
                return false;
        }
    return true;
}

int main(int count, char **words) {
    struct options options = options_of("cholesky", false, count, words);
    side = options.block;
    tiles = options.size / side;
    run_prepare(&options, 3 * side * side, (uint64_t)tiles * (tiles + 1) / 2);
    lower = blocks_new(tile(tiles, 0), side * side);
    double *a = random_matrix(options.size), *numbers = malloc(side * side * sizeof *numbers);
    if (!numbers) run_no_memory();
    for (size_t i = 0; i < tiles; i++)
        for (size_t j = 0; j <= i; j++) {
            cut(a, options.size, i, j, numbers);
            block_write(&lower, tile(i, j), numbers);
        }
    run_timed(submit_all);
    reference(a, options.size);
    bool correct = true;
    for (size_t i = 0; i < tiles; i++)
        for (size_t j = 0; j <= i && correct; j++) {
            block_read(&lower, tile(i, j), numbers);
            correct = equal(numbers, a, options.size, i, j);
        }
    free(a);
    free(numbers);
    free(lower.data);
    return run_finish(correct);
}
