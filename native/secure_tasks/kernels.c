#include "kernels.h"

#include <math.h>

#include "convolution.h"
#include "detection.h"
#include "numbers.h"

/* The side of a square tile of so many bytes; 0 for other sizes. */
static size_t side_of(size_t bytes) {
    size_t side = (size_t)lround(sqrt((double)(bytes / sizeof(double))));
    return side * side * sizeof(double) == bytes ? side : 0;
}

static bool fit(const size_t bytes[], unsigned count, unsigned expected) {
    if (count != expected || bytes[0] % sizeof(double)) return false;
    for (unsigned i = 1; i < count; i++)
        if (bytes[i] != bytes[0]) return false;
    return true;
}

static int potrf(void *const data[], const size_t bytes[], unsigned count) {
    size_t side = fit(bytes, count, 1) ? side_of(bytes[0]) : 0;
    double *a = data[0];
    for (size_t j = 0; j < side; j++) {
        double *row = a + j * side;
        double square = row[j] - product(row, row, j);
        if (!(square > 0)) return 1; /* not positive definite */
        row[j] = sqrt(square);
        for (size_t i = j + 1; i < side; i++)
            a[i * side + j] = (a[i * side + j] - product(a + i * side, row, j)) / row[j];
        for (size_t k = j + 1; k < side; k++) row[k] = 0;
    }
    return side == 0;
}

static int trsm(void *const data[], const size_t bytes[], unsigned count) {
    size_t side = fit(bytes, count, 2) ? side_of(bytes[0]) : 0;
    const double *l = data[0];
    for (size_t i = 0; i < side; i++) {
        double *row = (double *)data[1] + i * side;
        for (size_t j = 0; j < side; j++)
            row[j] = (row[j] - product(row, l + j * side, j)) / l[j * side + j];
    }
    return side == 0;
}

static void subtract_product(const double *a, const double *b, double *c, size_t side) {
    for (size_t i = 0; i < side; i++)
        for (size_t j = 0; j < side; j++)
            c[i * side + j] -= product(a + i * side, b + j * side, side);
}

static int syrk(void *const data[], const size_t bytes[], unsigned count) {
    size_t side = fit(bytes, count, 2) ? side_of(bytes[0]) : 0;
    subtract_product(data[0], data[0], data[1], side);
    return side == 0;
}

static int gemm(void *const data[], const size_t bytes[], unsigned count) {
    size_t side = fit(bytes, count, 3) ? side_of(bytes[0]) : 0;
    subtract_product(data[0], data[1], data[2], side);
    return side == 0;
}

static int multiply(void *const data[], const size_t bytes[], unsigned count) {
    size_t side = fit(bytes, count, 3) ? side_of(bytes[0]) : 0;
    const double *a = data[0], *b = data[1];
    double *c = data[2];
    for (size_t i = 0; i < side; i++)
        for (size_t k = 0; k < side; k++) {
            double factor = a[i * side + k];
#pragma omp simd
            for (size_t j = 0; j < side; j++) c[i * side + j] += factor * b[k * side + j];
        }
    return side == 0;
}

static int dot(void *const data[], const size_t bytes[], unsigned count) {
    if (!fit(bytes, count - 1, 2) || bytes[2] != sizeof(double)) return 1;
    *(double *)data[2] = product(data[0], data[1], bytes[0] / sizeof(double));
    return 0;
}

static int copy(void *const data[], const size_t bytes[], unsigned count) {
    if (!fit(bytes, count, 2)) return 1;
    const double *x = data[0];
    double *y = data[1];
#pragma omp simd
    for (size_t i = 0; i < bytes[0] / sizeof(double); i++) y[i] = x[i];
    return 0;
}

static int scale(void *const data[], const size_t bytes[], unsigned count) {
    if (!fit(bytes, count, 2)) return 1;
    const double *x = data[0];
    double *y = data[1];
#pragma omp simd
    for (size_t i = 0; i < bytes[0] / sizeof(double); i++) y[i] = STREAM_FACTOR * x[i];
    return 0;
}

/* z := x + factor y */
static int combine(void *const data[], const size_t bytes[], unsigned count, double factor) {
    if (!fit(bytes, count, 3)) return 1;
    const double *x = data[0], *y = data[1];
    double *z = data[2];
#pragma omp simd
    for (size_t i = 0; i < bytes[0] / sizeof(double); i++) z[i] = x[i] + factor * y[i];
    return 0;
}

static int add(void *const data[], const size_t bytes[], unsigned count) {
    return combine(data, bytes, count, 1);
}

static int triad(void *const data[], const size_t bytes[], unsigned count) {
    return combine(data, bytes, count, STREAM_FACTOR);
}

const enclave_function kernels[KERNELS] = {
    [POTRF] = potrf, [TRSM] = trsm, [SYRK] = syrk, [GEMM] = gemm,   [MULTIPLY] = multiply,
    [DOT] = dot,     [COPY] = copy, [SCALE] = scale, [ADD] = add, [TRIAD] = triad,
    [CONVOLVE] = convolve,
    [CONVOLVE_FIRST] = convolve_first,
    [CONVOLVE_MIDDLE] = convolve_middle,
    [CONVOLVE_LAST] = convolve_last,
    [COLLECT] = collect,
    [SUPPRESS] = suppress,
};

const char *const kernel_names[KERNELS] = {
    [POTRF] = "potrf",       [TRSM] = "trsm", [SYRK] = "syrk", [GEMM] = "gemm",
    [MULTIPLY] = "multiply", [DOT] = "dot",   [COPY] = "copy", [SCALE] = "scale",
    [ADD] = "add",           [TRIAD] = "triad",
    [CONVOLVE] = "convolve",
    [CONVOLVE_FIRST] = "convolve_first",
    [CONVOLVE_MIDDLE] = "convolve_middle",
    [CONVOLVE_LAST] = "convolve_last",
    [COLLECT] = "collect",
    [SUPPRESS] = "suppress",
};
