"""jax.jit of a small network: jaxjit.py [SIDE ...]"""

import os
import sys

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # others use the GPU too
import jax
import jax.numpy as jnp


@jax.jit
def f(a, b):
    return jnp.tanh(a @ b).sum(0)


for side in map(int, sys.argv[1:] or ["256"]):
    a = (jnp.arange(side * side, dtype="float32") % 13).reshape(side, side) / 13
    print(
        side,
        "%.4e" % float(f(a, a).sum()),
        "%.4e" % float(jax.grad(lambda x: f(x, a).sum())(a).sum()),
        flush=True,
    )
