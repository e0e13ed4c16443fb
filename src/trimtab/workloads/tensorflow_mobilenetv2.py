"""MobileNetV2 of keras.applications trained on digits with TensorFlow."""

import argparse
from typing import Any

from trimtab.workloads.common import command
from trimtab.workloads.data import InputError, channels_last, digits


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train the model and classify the test digits; return the metrics."""
    import tensorflow  # type: ignore[import-untyped]

    kind = "GPU" if arguments.device == "cuda" else "CPU"
    devices = tensorflow.config.list_physical_devices(kind)
    if not devices:
        raise InputError(f"--device {arguments.device}: TensorFlow finds no {kind}")
    tensorflow.config.set_visible_devices(devices[:1], kind)
    if kind == "CPU":
        tensorflow.config.set_visible_devices([], "GPU")
    else:
        # Allocate memory on demand, not all of it, so memory can be measured.
        tensorflow.config.experimental.set_memory_growth(devices[0], True)
    tensorflow.keras.utils.set_random_seed(arguments.seed)
    tensorflow.config.experimental.enable_op_determinism()
    tensorflow.config.experimental.enable_tensor_float_32_execution(False)

    images = digits.load(channels=3, enlarged=4).first(arguments.train_samples, None)
    model = tensorflow.keras.applications.MobileNetV2(
        input_shape=(32, 32, 3), weights=None, classes=10
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(
        channels_last(images.train.inputs),
        images.train.labels,
        arguments.batch_size,
        arguments.epochs,
        verbose=0,
        callbacks=[marks(tensorflow.keras.callbacks)],
    )
    loss, accuracy = model.evaluate(
        channels_last(images.test.inputs), images.test.labels, verbose=0
    )
    return {
        "data": {"name": images.name, "source": images.source},
        "device": kind,
        "tensorflow": tensorflow.__version__,
        "parameters": model.count_params(),
        "train_loss": history.history["loss"],
        "test_loss": loss,
        "test_accuracy": accuracy,
    }


def marks(callbacks: Any) -> Any:
    """Return the callback that prints the program's marks."""

    def batch_ended(batch: int, logs: dict[str, float]) -> None:
        if not said:
            command.mark_first_iteration()
            said.append(batch)

    said: list[int] = []
    return callbacks.LambdaCallback(
        on_train_batch_end=batch_ended,
        on_epoch_end=lambda epoch, logs: command.mark_epoch(epoch + 1, logs["loss"]),
    )


if __name__ == "__main__":
    options = command.parser("MobileNetV2 trained on scikit-learn's digits with TensorFlow.")
    options.add_argument("--epochs", type=command.positive, default=5)
    options.add_argument("--batch-size", type=command.positive, default=32)
    options.add_argument("--train-samples", type=command.positive, help="keep the first of them")
    command.main(options, run)
