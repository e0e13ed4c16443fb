"""Functions compiled while the program runs: loops, generated code, parallel loops, records."""

import sys

import numba
import numpy as np

size = int(sys.argv[1])


@numba.njit
def mandelbrot(size):
    counts = np.zeros((size, size), np.int64)
    for i in range(size):
        for j in range(size):
            c = complex(-2 + 3 * i / size, -1.5 + 3 * j / size)
            z = 0j
            while abs(z) < 2 and counts[i, j] < 40:
                z = z * z + c
                counts[i, j] += 1
    return counts


@numba.njit(parallel=True)
def norms(matrix):
    result = np.empty(matrix.shape[0])
    for row in numba.prange(matrix.shape[0]):
        result[row] = np.sqrt((matrix[row] ** 2).sum())
    return result


@numba.vectorize(["float64(float64, float64)"])
def smaller(a, b):
    return a if a < b else b


@numba.njit
def words(text):
    counts = {"": 0}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return counts


print("mandelbrot", mandelbrot(size).sum())
print("norms", f"{norms(np.random.default_rng(1).random((size, 7))).sum():.6g}")
print("smaller", smaller(np.arange(4.0), np.arange(4.0)[::-1]).tolist())
print("words", sorted(words("a few words and a few more words").items()))
