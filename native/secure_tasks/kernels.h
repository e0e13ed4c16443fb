/* The functions of tasks, inside an enclave or outside: on square tiles of doubles in row order, on
 * vectors, or on images. Each refuses buffers with inconsistent sizes. */
#ifndef TRIMTAB_KERNELS_H
#define TRIMTAB_KERNELS_H

#include "enclave.h"

enum kernel {
    POTRF,    /* A := L, with L L' = A, lower */
    TRSM,     /* L, A: A := A L'^-1 */
    SYRK,     /* A, C: C := C - A A' */
    GEMM,     /* A, B, C: C := C - A B' */
    MULTIPLY, /* A, B, C: C := C + A B */
    DOT,      /* x, y, z: z := x' y, one number */
    COPY,     /* x, y: y := x */
    SCALE,    /* x, y: y := 3 x */
    ADD,      /* x, y, z: z := x + y */
    TRIAD,    /* x, y, z: z := x + 3 y */
    /* Layers of networks and their findings: convolution.h, detection.h. */
    CONVOLVE,
    CONVOLVE_FIRST,
    CONVOLVE_MIDDLE,
    CONVOLVE_LAST,
    COLLECT,
    SUPPRESS,
    KERNELS
};

extern const enclave_function kernels[KERNELS];
extern const char *const kernel_names[KERNELS];

#define STREAM_FACTOR 3.0

#endif
