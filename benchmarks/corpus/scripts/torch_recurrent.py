"""An LSTM and a GRU trained on sequences of different lengths."""

import sys

import torch
from torch import nn

length = int(sys.argv[1])
torch.manual_seed(0)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.lstm = nn.LSTM(16, 32, num_layers=2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(64, 24, batch_first=True)
        self.head = nn.Linear(24, 3)

    def forward(self, words, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(words), lengths, batch_first=True, enforce_sorted=False
        )
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.head(self.gru(hidden)[1][-1])


model = Reader()
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
words = torch.randint(0, 20, (16, length))
lengths = torch.randint(2, length + 1, (16,))
lengths[0] = length
wanted = (words[:, 0] % 3).long()
for step in range(6):
    loss = nn.functional.cross_entropy(model(words, lengths), wanted)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(step, f"{loss.item():.4f}")
