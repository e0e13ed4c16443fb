"""A model compiled by torch.compile: with Inductor's C++ code, and with a graph alone."""

import sys

import torch
from torch import nn

batch = int(sys.argv[1])
torch.manual_seed(0)


def gelu_sum(x):
    return (torch.nn.functional.gelu(x) * x.sigmoid() + x.cos()).sum(-1)


model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))
x = torch.randn(batch, 16)
for backend in ("eager", "aot_eager", "inductor"):
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=backend)
    loss = compiled(x).square().mean()
    loss.backward()
    print(backend, f"{loss.item():.5f}", f"{model[0].weight.grad.norm().item():.4f}")
    model.zero_grad()
print("function", torch.allclose(torch.compile(gelu_sum)(x), gelu_sum(x), atol=1e-5))
