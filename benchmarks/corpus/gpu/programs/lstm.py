"""Training steps of an LSTM and a GRU with cuDNN: lstm.py [LENGTH:WIDTH ...]"""

import sys

import torch

torch.manual_seed(0)
for size in sys.argv[1:] or ["30:64"]:
    length, width = map(int, size.split(":"))
    layers = torch.nn.ModuleList(
        kind(width, width, num_layers=2, device="cuda") for kind in (torch.nn.LSTM, torch.nn.GRU)
    )
    optimizer = torch.optim.AdamW(layers.parameters())
    for _ in range(3):
        x = torch.randn(length, 8, width, device="cuda")
        loss = sum(layer(x)[0].square().mean() for layer in layers)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(size, f"{loss.item():.3f}", flush=True)
