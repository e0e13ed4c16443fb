"""An LSTM that reads an image of MNIST row by row."""

from typing import Any

from torch import nn

from trimtab.workloads.common import classification, program
from trimtab.workloads.data import mnist


class RowLSTM(nn.Module):  # type: ignore[misc]
    """An LSTM over the 28 rows of an image, and a linear layer on its last hidden state."""

    def __init__(self, hidden_size: int = 128) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_size=28, hidden_size=hidden_size, batch_first=True)
        self.classifier = nn.Linear(hidden_size, 10)

    def forward(self, images: Any) -> Any:
        """Return logits [batch, 10] of images [batch, 1, 28, 28]."""
        _, (hidden, _) = self.lstm(images.squeeze(1))
        return self.classifier(hidden[-1])


if __name__ == "__main__":
    program.main(
        "An LSTM over the rows of MNIST's images.",
        16,
        lambda options: classification.run(options, lambda _: RowLSTM(), mnist.load),
        learning_rate=classification.LEARNING_RATE,
    )
