"""M5 (Dai et al. 2017), a convolutional network on the waveform, on Speech Commands."""

from typing import Any

from torch import nn

from trimtab.workloads.common import classification, program
from trimtab.workloads.data import speech


def build(classes: int, embedding: int, stride: int) -> Any:
    """Return M5: [batch, 1, points] to logits [batch, classes].

    `embedding` is the number of maps of the first two layers, 128 in the paper; `stride` is the
    first layer's, 4 in the paper. Unlike the paper, all layers pad their input, to allow short
    signals.
    """

    def layer(inputs: int, maps: int, width: int, step: int) -> list[Any]:
        return [
            nn.Conv1d(inputs, maps, width, stride=step, padding=width // 2),
            nn.BatchNorm1d(maps),
            nn.ReLU(),
            nn.MaxPool1d(4, ceil_mode=True),
        ]

    return nn.Sequential(
        *layer(1, embedding, 80, stride),
        *layer(embedding, embedding, 3, 1),
        *layer(embedding, 2 * embedding, 3, 1),
        *layer(2 * embedding, 4 * embedding, 3, 1),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(4 * embedding, classes),
    )


if __name__ == "__main__":
    program.main(
        "M5 on Speech Commands.",
        32,
        lambda options: classification.run(
            options,
            lambda data: build(data.classes, options.embedding, options.stride),
            speech.load,
        ),
        learning_rate=classification.LEARNING_RATE,
        embedding=32,
        stride=16,
    )
