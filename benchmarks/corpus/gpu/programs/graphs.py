"""A step captured as a CUDA graph and replayed, with foreach optimizers: graphs.py [WIDTH ...]"""

import sys

import torch

torch.manual_seed(0)
for width in map(int, sys.argv[1:] or ["128"]):
    model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU()).cuda()
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    x = torch.randn(32, width, device="cuda")

    def step() -> torch.Tensor:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for _ in range(5):
        graph.replay()
    print(width, f"{loss.item():.5f}", flush=True)
