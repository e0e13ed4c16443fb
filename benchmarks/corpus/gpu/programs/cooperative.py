"""A kernel in Triton whose blocks wait for each other, launched cooperatively: cooperative.py [N ...]

It is launched by itself, and replayed in a CUDA graph.
"""

import sys

import torch
import triton
import triton.language as tl

BLOCK = 1024
BLOCKS = 128  # all of them fit on the GPU at once


@triton.jit
def centre(x, y, sums, arrived, n, width: tl.constexpr, blocks: tl.constexpr):
    block = tl.program_id(0)
    here = block * width + tl.arange(0, width)
    value = tl.load(x + here, mask=here < n, other=0.0)
    tl.store(sums + block, tl.sum(value, axis=0))
    tl.debug_barrier()
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < blocks:
        pass
    tl.debug_barrier()
    total = tl.sum(tl.load(sums + tl.arange(0, blocks), volatile=True), axis=0)
    tl.store(y + here, value - total / n, mask=here < n)


def step(x, y, sums, arrived):
    arrived.zero_()
    centre[(BLOCKS,)](
        x, y, sums, arrived, len(x), width=BLOCK, blocks=BLOCKS, launch_cooperative_grid=True
    )


for n in map(int, sys.argv[1:] or ["50000"]):
    x = torch.sin(torch.arange(n, device="cuda") * 0.01) + 1
    y, sums = torch.empty_like(x), torch.zeros(BLOCKS, device="cuda")
    arrived = torch.zeros(1, dtype=torch.int32, device="cuda")
    step(x, y, sums, arrived)
    first = y.square().sum().item()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(x, y, sums, arrived)
    x.mul_(2)
    graph.replay()
    print(n, f"{first:.3e}", f"{y.square().sum().item():.3e}", flush=True)
