/* Common functions of kernels. */
#ifndef TRIMTAB_NUMBERS_H
#define TRIMTAB_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

static inline double product(const double *x, const double *y, size_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++) sum += x[i] * y[i];
    return sum;
}

/* Whether a task's number is whole and within bounds; it is then in `whole`. */
static inline bool whole_number(double value, size_t least, size_t most, size_t *whole) {
    if (!(value >= (double)least && value <= (double)most)) return false;
    *whole = (size_t)value;
    return (double)*whole == value;
}

#endif
