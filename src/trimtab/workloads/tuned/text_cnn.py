"""A convolutional network (Kim 2014) that classifies texts by topic."""

from typing import Any

import torch
from torch import nn

from trimtab.workloads.common import classification, program
from trimtab.workloads.data import texts
from trimtab.workloads.data.translation import PADDING

_WIDTHS = (3, 4, 5)
_MAPS = 100  # per width


class TextCNN(nn.Module):  # type: ignore[misc]
    """Embeddings, convolutions over 3, 4 and 5 words, the maximum of each map, a linear layer."""

    def __init__(self, tokens: int, classes: int, embedding: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, embedding, padding_idx=PADDING)
        self.convolutions = nn.ModuleList(nn.Conv1d(embedding, _MAPS, width) for width in _WIDTHS)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(_MAPS * len(_WIDTHS), classes)

    def forward(self, numbers: Any) -> Any:
        """Return logits [batch, classes] of tokens' numbers [batch, length]."""
        words = self.embedding(numbers).transpose(1, 2)
        maxima = [layer(words).relu().amax(dim=2) for layer in self.convolutions]
        return self.classifier(self.dropout(torch.cat(maxima, dim=1)))


if __name__ == "__main__":
    program.main(
        "A convolutional network on 20 Newsgroups.",
        32,
        lambda options: classification.run(
            options,
            lambda data: TextCNN(data.tokens, data.classes, options.embedding, options.dropout),
            texts.load_newsgroups,
        ),
        learning_rate=classification.LEARNING_RATE,
        embedding=100,
        dropout=0.5,
    )
