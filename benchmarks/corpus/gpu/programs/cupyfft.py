"""CuPy's FFT and elementwise kernels: cupyfft.py [SIDE ...]"""

import sys

import cupy

k = cupy.ElementwiseKernel("T a, T b", "T c", "c = a*b+sin(a)", "k")
for side in map(int, sys.argv[1:] or ["256"]):
    x = (cupy.arange(side * side, dtype="f4") % 97).reshape(side, side)
    print(
        side,
        "%.4e" % float(abs(cupy.fft.fft2(x)).sum()),
        "%.4e" % float(k(x, x).sum()),
        "%.4e" % float(cupy.sort(x[:, ::-1], 1)[:, 0].sum()),
        flush=True,
    )
