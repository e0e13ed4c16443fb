"""A model scripted, traced, optimized, saved and loaded by the JIT compiler."""

import io
import sys

import torch
from torch import nn

steps = int(sys.argv[1])
torch.manual_seed(0)


class Walk(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 8)
        self.out = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor, steps: int) -> torch.Tensor:
        hidden = torch.zeros(x.size(0), 8)
        seen: list[torch.Tensor] = []
        for n in range(steps):
            hidden = self.cell(x, hidden)
            x = torch.tanh(self.out(hidden)) if n % 2 == 0 else self.out(hidden).relu()
            seen.append(x)
        return torch.stack(seen)


walk = Walk().eval()
scripted = torch.jit.script(walk)
x = torch.randn(3, 4)
for _ in range(3):
    result = scripted(x, steps)
print("scripted", torch.allclose(result, walk(x, steps)), f"{result.sum().item():.4f}")
file = io.BytesIO()
torch.jit.save(torch.jit.freeze(scripted), file)
file.seek(0)
print("loaded", torch.allclose(torch.jit.load(file)(x, steps + 1), walk(x, steps + 1)))
network = nn.Sequential(nn.Conv1d(4, 6, 3), nn.BatchNorm1d(6), nn.ReLU(), nn.Flatten()).eval()
traced = torch.jit.optimize_for_inference(torch.jit.trace(network, torch.randn(2, 4, 10)))
print(
    "traced", tuple(traced(torch.ones(5, 4, 10)).shape), f"{traced(torch.ones(1, 4, 10)).sum():.4f}"
)
print(len(str(scripted.graph).splitlines()) > 10)
