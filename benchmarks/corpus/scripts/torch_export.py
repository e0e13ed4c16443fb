"""Models exported with dynamic shapes, decomposed, saved, loaded and run."""

import io
import sys

import torch
from torch import nn

batch = int(sys.argv[1])
torch.manual_seed(0)


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm = nn.LayerNorm(16)

    def forward(self, x):
        return self.norm(x + self.attention(x, x, x, need_weights=False)[0]).mean(1)


model, x = Mixer().eval(), torch.randn(batch, 5, 16)
program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("n", min=2)},))
print(
    "exported", len(program.graph.nodes) > 5, [str(s) for s in program.range_constraints.values()]
)
plain = program.run_decompositions()
print("decomposed", len(plain.graph.nodes) > len(program.graph.nodes))
file = io.BytesIO()
torch.export.save(program, file)
file.seek(0)
again = torch.export.load(file).module()
print("loaded", torch.allclose(again(x), model(x), atol=1e-6))
print("other size", tuple(again(torch.ones(batch + 3, 5, 16)).shape), f"{again(x).norm():.4f}")
