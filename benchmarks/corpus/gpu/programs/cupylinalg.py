"""CuPy's solvers, sparse matrices and random numbers: cupylinalg.py [SIDE ...]"""

import sys

import cupy
import cupyx.scipy.sparse as sparse

for side in map(int, sys.argv[1:] or ["64"]):
    a = cupy.random.RandomState(side).rand(side, side) + side * cupy.eye(side)
    solved = cupy.linalg.solve(a, cupy.ones(side))
    values = cupy.linalg.svd(a, compute_uv=False)
    product = sparse.csr_matrix(cupy.where(a > 0.5, a, 0)) @ cupy.ones(side)
    figures = (solved.sum(), values.sum(), product.sum(), cupy.linalg.eigvalsh(a + a.T).sum())
    print(side, *(f"{float(figure):.6e}" for figure in figures), flush=True)
