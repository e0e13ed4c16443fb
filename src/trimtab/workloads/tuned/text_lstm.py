"""An LSTM that classifies texts by topic."""

from typing import Any

from torch import nn

from trimtab.workloads.common import classification, program
from trimtab.workloads.data import texts
from trimtab.workloads.data.translation import PADDING


class TextLSTM(nn.Module):  # type: ignore[misc]
    """Embeddings, an LSTM, the maximum of each of its outputs over the text, a linear layer."""

    def __init__(
        self, tokens: int, classes: int, embedding: int, dropout: float, hidden_size: int = 100
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, embedding, padding_idx=PADDING)
        self.lstm = nn.LSTM(embedding, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(hidden_size, classes)

    def forward(self, numbers: Any) -> Any:
        """Return logits [batch, classes] of token numbers [batch, length]."""
        outputs, _ = self.lstm(self.embedding(numbers))
        return self.classifier(self.dropout(outputs.amax(dim=1)))


if __name__ == "__main__":
    program.main(
        "An LSTM on 20 Newsgroups.",
        32,
        lambda options: classification.run(
            options,
            lambda data: TextLSTM(data.tokens, data.classes, options.embedding, options.dropout),
            texts.load_newsgroups,
        ),
        learning_rate=classification.LEARNING_RATE,
        embedding=100,
        dropout=0.0,
    )
