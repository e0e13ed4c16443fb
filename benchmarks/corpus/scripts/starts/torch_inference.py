"""A small network classifies one picture."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(6 * 12 * 12, 10)
).eval()
with torch.inference_mode():
    print(model(torch.rand(1, 1, 28, 28)).argmax().item())
