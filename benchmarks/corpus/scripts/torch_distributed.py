"""Two processes over Gloo: collectives, and a model trained by DistributedDataParallel."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def work(rank, size, file, width):
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=size)
    torch.manual_seed(0)
    total = torch.arange(width) + rank
    dist.all_reduce(total)
    gathered = [torch.zeros(2) for _ in range(size)]
    dist.all_gather(gathered, torch.full((2,), float(rank)))
    seen = torch.zeros(3)
    dist.broadcast(seen.add_(rank), 1)
    model = DistributedDataParallel(nn.Linear(width, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        loss = model(torch.randn(8, width)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print(total.sum().item(), torch.cat(gathered).tolist(), seen.tolist(), f"{loss.item():.4f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(work, (2, f"{folder}/store", int(sys.argv[1])), nprocs=2)
