"""Integration, optimization, signals, sparse matrices, statistics and spatial search of SciPy."""

import sys

import numpy as np
from scipy import integrate, interpolate, optimize, signal, sparse, spatial, special, stats
from scipy.sparse import linalg

size = int(sys.argv[1])
random = np.random.default_rng(size)

area, _ = integrate.quad(lambda x: np.exp(-x * x), -np.inf, np.inf)
print("integral", f"{area:.8f}")
orbit = integrate.solve_ivp(
    lambda t, y: [y[1], (1 - y[0] ** 2) * y[1] - y[0]], (0, size / 20), [2, 0]
)
print("ode", orbit.status, f"{orbit.y[0, -1]:.4f}")
least = optimize.minimize(optimize.rosen, np.full(5, 1.3), method="BFGS", jac=optimize.rosen_der)
print("minimum", least.success, least.x.round(3).tolist())
print("root", f"{optimize.brentq(lambda x: np.cos(x) - x, 0, 1):.8f}")
program = optimize.linprog([-1, -2], A_ub=[[1, 1], [1, 3]], b_ub=[4, 6])
print("linear program", program.x.round(6).tolist())
matrix = sparse.random(size, size, 0.05, random_state=1) + sparse.eye(size)
print("sparse", f"{linalg.spsolve(matrix.tocsc(), np.ones(size)).sum():.5g}", matrix.nnz)
b, a = signal.butter(4, 0.2)
print("filter", f"{signal.filtfilt(b, a, random.standard_normal(size * 4)).std():.5f}")
spline = interpolate.CubicSpline(np.arange(size), np.sin(np.arange(size)))
print("spline", f"{spline(size / 3):.6f}")
points = random.random((size, 3))
print("neighbours", spatial.cKDTree(points).query(points[:3], k=3)[1].tolist())
print("hull", f"{spatial.ConvexHull(points).volume:.5f}")
print("test", f"{stats.ttest_ind(points[:, 0], points[:, 1]).pvalue:.5f}")
print("bessel", special.jv(2, np.linspace(0, 3, 4)).round(6).tolist())
