"""The model of Vaswani et al. (2017) around torch.nn.Transformer."""

import math
from typing import Any

import torch
from torch import nn

from trimtab.workloads.data.translation import BEGIN, END, MAXIMUM_TOKENS, PADDING


class TranslationModel(nn.Module):  # type: ignore[misc]
    """Embeddings, positions, torch.nn.Transformer and the output layer.

    Token numbers are int64 [batch, tokens], padded at the end. As in section 3.4 of the paper
    the output layer shares the target embedding's weights, and embeddings are scaled by the
    square root of `width`.
    """

    def __init__(
        self,
        source_tokens: int,
        target_tokens: int,
        width: int = 128,
        heads: int = 4,
        layers: int = 2,
        feed_forward_width: int = 512,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.width = width
        self.source_embedding = nn.Embedding(source_tokens, width, padding_idx=PADDING)
        self.target_embedding = nn.Embedding(target_tokens, width, padding_idx=PADDING)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=width**-0.5)
        # Two more than the longest sentence, for the marks of its beginning and end.
        positions = sinusoids(MAXIMUM_TOKENS + 2, width)
        self.register_buffer("positions", positions, persistent=False)
        self.dropout = nn.Dropout(dropout)
        # As in nn.Transformer, but without nested tensors, a prototype in PyTorch.
        encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(width, heads, feed_forward_width, dropout, batch_first=True),
            layers,
            nn.LayerNorm(width),
            enable_nested_tensor=False,
        )
        self.transformer = nn.Transformer(
            d_model=width,
            nhead=heads,
            num_decoder_layers=layers,
            dim_feedforward=feed_forward_width,
            dropout=dropout,
            custom_encoder=encoder,
            batch_first=True,
        )

    def forward(self, sources: Any, targets: Any) -> Any:
        """Return logits [batch, target length, target tokens] of each next token."""
        return self.decode(targets, self.encode(sources), sources)

    def encode(self, sources: Any) -> Any:
        """Return the encoder's output [batch, source length, width]."""
        embedded = self._embedded(self.source_embedding, sources)
        return self.transformer.encoder(embedded, src_key_padding_mask=sources == PADDING)

    def decode(self, targets: Any, memory: Any, sources: Any) -> Any:
        """Return logits of each next token; a position sees only targets up to itself."""
        length = targets.shape[1]
        later = torch.ones(length, length, dtype=torch.bool, device=targets.device).triu(1)
        hidden = self.transformer.decoder(
            self._embedded(self.target_embedding, targets),
            memory,
            tgt_mask=later,
            tgt_key_padding_mask=targets == PADDING,
            memory_key_padding_mask=sources == PADDING,
        )
        return nn.functional.linear(hidden, self.target_embedding.weight)

    def translate(self, sources: Any, maximum_tokens: int = MAXIMUM_TOKENS) -> Any:
        """Return greedy translations, int64 [batch, tokens], from BEGIN to END, then padded.

        Decoding stops when every sentence has ended, or after `maximum_tokens`.
        """
        self.eval()
        with torch.inference_mode():
            memory = self.encode(sources)
            targets = torch.full((len(sources), 1), BEGIN, device=sources.device)
            ended = torch.zeros(len(sources), dtype=torch.bool, device=sources.device)
            while targets.shape[1] <= maximum_tokens and not ended.all():
                logits = self.decode(targets, memory, sources)[:, -1]
                logits[:, [PADDING, BEGIN]] = -math.inf
                following = logits.argmax(-1).masked_fill(ended, PADDING)
                targets = torch.cat([targets, following[:, None]], dim=1)
                ended |= following == END
        return targets

    def _embedded(self, embedding: Any, numbers: Any) -> Any:
        positions = self.positions[: numbers.shape[1]]
        return self.dropout(embedding(numbers) * math.sqrt(self.width) + positions)


def sinusoids(length: int, width: int) -> Any:
    """Return the positional encoding of section 3.5, float32 [length, width]."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    angle = position / 10_000 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1).float()
