"""A small convolutional network trained on digits with JAX alone."""

import argparse
import os
from typing import Any

import numpy as np

from trimtab.workloads.common import command
from trimtab.workloads.data import InputError, Samples, channels_last, digits

_MOMENTUM = 0.9


def initial(seed: int) -> dict[str, Any]:
    """Return weights by He's rule, float32: two convolutions of 3 x 3, one dense layer."""
    draw = np.random.default_rng(seed).normal
    shapes = {"first": (3, 3, 1, 32), "second": (3, 3, 32, 64), "dense": (2 * 2 * 64, 10)}
    return {
        name: draw(scale=(2 / np.prod(shape[:-1])) ** 0.5, size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train the network and classify the test images; return the metrics."""
    if arguments.device == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"  # else JAX would use an available GPU
    import jax  # type: ignore[import-not-found]

    try:
        device = jax.devices(arguments.device)[0]
    except RuntimeError as error:
        raise InputError(f"--device {arguments.device}: {error}") from None
    images = digits.load()
    with jax.default_matmul_precision("highest"):
        losses, accuracy = train(images, arguments)
    return {
        "data": {"name": images.name, "source": images.source},
        "device": device.device_kind,
        "jax": jax.__version__,
        "train_loss": losses,
        "test_accuracy": accuracy,
    }


def train(images: Samples, arguments: argparse.Namespace) -> tuple[list[float], float]:
    """Train by SGD with momentum; return each epoch's mean loss, and the test accuracy."""
    import jax
    import jax.numpy as jnp  # type: ignore[import-not-found]

    def convolved(pixels: Any, weights: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        return jax.nn.relu(
            jax.lax.conv_general_dilated(pixels, weights, (2, 2), "SAME", dimension_numbers=layout)
        )

    def logits(weights: Any, pixels: Any) -> Any:
        hidden = convolved(convolved(pixels, weights["first"]), weights["second"])
        return hidden.reshape(len(pixels), -1) @ weights["dense"]

    def loss(weights: Any, pixels: Any, labels: Any) -> Any:
        likelihood = jax.nn.log_softmax(logits(weights, pixels))
        return -likelihood[jnp.arange(len(labels)), labels].mean()

    @jax.jit  # type: ignore[untyped-decorator]
    def step(weights: Any, speed: Any, pixels: Any, labels: Any) -> Any:
        value, slope = jax.value_and_grad(loss)(weights, pixels, labels)
        speed = jax.tree.map(lambda v, g: _MOMENTUM * v - arguments.learning_rate * g, speed, slope)
        return jax.tree.map(jnp.add, weights, speed), speed, value

    pixels, labels = channels_last(images.train.inputs), images.train.labels
    weights = jax.tree.map(jnp.asarray, initial(arguments.seed))
    speed = jax.tree.map(jnp.zeros_like, weights)
    order = np.random.default_rng(arguments.seed)
    whole = len(labels) - len(labels) % arguments.batch_size  # one shape, compiled once
    losses = []
    for epoch in range(1, arguments.epochs + 1):
        total = 0.0
        batches = order.permutation(len(labels))[:whole].reshape(-1, arguments.batch_size)
        for number, batch in enumerate(batches):
            weights, speed, value = step(weights, speed, pixels[batch], labels[batch])
            total += float(value)
            if epoch == 1 and number == 0:
                command.mark_first_iteration()
        losses.append(total / len(batches))
        command.mark_epoch(epoch, losses[-1])
    classes = logits(weights, channels_last(images.test.inputs)).argmax(axis=1)
    return losses, float((np.asarray(classes) == images.test.labels).mean())


if __name__ == "__main__":
    options = command.parser("A small convolutional network trained on digits with JAX.")
    options.add_argument("--epochs", type=command.positive, default=10)
    options.add_argument("--batch-size", type=command.positive, default=32)
    options.add_argument("--learning-rate", type=float, default=0.02)
    command.main(options, run)
