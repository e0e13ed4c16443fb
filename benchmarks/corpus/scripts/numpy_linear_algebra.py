"""Decompositions, systems of equations and random numbers of dense matrices."""

import sys

import numpy as np

size = int(sys.argv[1])
random = np.random.default_rng(size)
a = random.standard_normal((size, size))
symmetric = a @ a.T + size * np.eye(size)
b = random.standard_normal(size)

print("solve", np.allclose(a @ np.linalg.solve(a, b), b))
print("trace", f"{np.trace(symmetric):.6g}", "det", np.linalg.slogdet(symmetric)[0])
q, r = np.linalg.qr(a)
print("qr", np.allclose(q @ r, a), "cholesky", f"{np.linalg.cholesky(symmetric)[0, 0]:.6g}")
u, s, vt = np.linalg.svd(a)
print("svd", f"{s[0]:.6g}", np.allclose(u * s @ vt, a))
print("eigenvalues", f"{np.linalg.eigvalsh(symmetric)[-1]:.6g}")
print("einsum", f"{np.einsum('ij,kj,k->i', a, a, b)[0]:.6g}")
counts, edges = np.histogram(random.poisson(5, 10 * size), bins=8)
print("histogram", counts.tolist(), edges[:2].round(3).tolist())
order = np.lexsort((random.integers(0, 5, size), np.floor(b)))
print("sorted", order[:10].tolist(), np.unique(np.sign(b)).tolist())
print("fft", f"{np.abs(np.fft.rfft(b)).max():.6g}", "median", f"{np.median(b):.6g}")
