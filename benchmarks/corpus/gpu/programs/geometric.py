"""Message passing over a graph with PyTorch Geometric: geometric.py [NODES ...]"""

import sys

import torch
from torch_geometric.nn import GATConv, GCNConv

for nodes in map(int, sys.argv[1:] or ["500"]):
    torch.manual_seed(nodes)
    edges = torch.randint(0, nodes, (2, 6 * nodes), device="cuda")
    x = torch.rand(nodes, 32, device="cuda")
    first, second = GCNConv(32, 16).cuda(), GATConv(16, 4, heads=2).cuda()
    loss = second(first(x, edges).relu(), edges).square().mean()
    loss.backward()
    print(nodes, f"{loss.item():.4f}", f"{first.lin.weight.grad.norm().item():.2e}", flush=True)
