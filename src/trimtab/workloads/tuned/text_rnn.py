"""A recurrent network (Elman 1990) that classifies news items by topic."""

from typing import Any

from torch import nn

from trimtab.workloads.common import classification, program
from trimtab.workloads.data import texts
from trimtab.workloads.data.translation import PADDING


class TextRNN(nn.Module):  # type: ignore[misc]
    """Embeddings, a recurrent layer over them in strides, its mean over the text, a linear layer.

    A step reads the mean of `stride` words and advances by `stride`, so longer strides need fewer
    steps.
    """

    def __init__(
        self, tokens: int, classes: int, stride: int, embedding: int = 64, hidden_size: int = 64
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, embedding, padding_idx=PADDING)
        self.pool = nn.AvgPool1d(stride)
        self.rnn = nn.RNN(embedding, hidden_size, batch_first=True)
        self.classifier = nn.Linear(hidden_size, classes)

    def forward(self, numbers: Any) -> Any:
        """Return logits [batch, classes] of tokens' numbers [batch, length]."""
        words = self.pool(self.embedding(numbers).transpose(1, 2)).transpose(1, 2)
        outputs, _ = self.rnn(words)
        return self.classifier(outputs.mean(dim=1))


if __name__ == "__main__":
    program.main(
        "A recurrent network on AG News.",
        32,
        lambda options: classification.run(
            options,
            lambda data: TextRNN(data.tokens, data.classes, options.stride),
            texts.load_ag_news,
        ),
        learning_rate=classification.LEARNING_RATE,
        stride=1,
    )
