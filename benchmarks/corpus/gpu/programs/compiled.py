"""torch.compile of a small network: compiled.py [ROWS ...]"""

import os
import sys

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # few kernels need no pool
import torch

torch.manual_seed(0)
w = torch.randn(512, 512, device="cuda")


@torch.compile
def f(x):
    return (
        torch.nn.functional.layer_norm(torch.nn.functional.gelu(x @ w), (512,)).softmax(-1).sum(0)
    )


for rows in map(int, sys.argv[1:] or ["256"]):
    print(rows, "%.4e" % f(torch.randn(rows, 512, device="cuda")).square().sum().item(), flush=True)
