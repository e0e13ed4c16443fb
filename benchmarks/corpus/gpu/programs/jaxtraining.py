"""Training steps of a small convolutional network in JAX: jaxtraining.py [BATCH ...]"""

import os
import sys

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # others use the GPU too
import jax
import jax.numpy as jnp


def network(weights, x):
    for kernel in weights[:-1]:
        x = jax.nn.relu(jax.lax.conv(x, kernel, (1, 1), "SAME"))
    return x.mean((2, 3)) @ weights[-1]


@jax.jit
def step(weights, x, y):
    def loss(weights):
        return -(jax.nn.log_softmax(network(weights, x)) * jax.nn.one_hot(y, 10)).sum(1).mean()

    value, slope = jax.value_and_grad(loss)(weights)
    return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, slope)


keys = jax.random.split(jax.random.key(0), 4)
shapes = ((8, 1, 3, 3), (16, 8, 3, 3), (16, 10))
for batch in map(int, sys.argv[1:] or ["16"]):
    weights = [0.1 * jax.random.normal(k, s) for k, s in zip(keys, shapes)]
    x, y = jax.random.normal(keys[3], (batch, 1, 16, 16)), jnp.arange(batch) % 10
    for _ in range(3):
        value, weights = step(weights, x, y)
    print(batch, f"{float(value):.4f}", flush=True)
