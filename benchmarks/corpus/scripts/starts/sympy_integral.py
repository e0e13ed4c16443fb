"""Sums, an integral and an equation."""

from sympy import Eq, cos, exp, integrate, oo, sin, solve, symbols

x = symbols("x")
print(integrate(exp(x) * sin(x) + exp(x) * cos(x), x))
print(integrate(sin(x**2), (x, -oo, oo)))
print(solve(Eq(x**2 - 2, 0), x))
