"""Training steps on two GPUs with DistributedDataParallel and NCCL: ddp.py [BATCH ...]"""

import os
import sys
import tempfile

import torch
from torch import distributed, nn

GPUS = 2
# Multicast over NVLink is not to be had on every machine.
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")


def train(rank, store, batches):
    torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl", init_method=f"file://{store}", rank=rank, world_size=GPUS
    )
    for batch in batches:
        torch.manual_seed(batch)
        network = nn.Sequential(
            nn.Conv2d(3, 16, 3),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(256, 10),
        )
        model = nn.parallel.DistributedDataParallel(network.cuda(), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        for _ in range(3):
            x = torch.randn(batch, 3, 32, 32, device="cuda")
            loss = nn.functional.cross_entropy(model(x), torch.arange(batch, device="cuda") % 10)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses = [torch.zeros_like(loss) for _ in range(GPUS)]
        distributed.all_gather(losses, loss.detach())
        total = torch.stack([p.square().sum() for p in model.parameters()]).sum().detach()
        distributed.all_reduce(total)
        if rank == 0:
            print(
                batch, f"{torch.stack(losses).mean().item():.3f}", f"{total.item():.2e}", flush=True
            )
    distributed.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        arguments = (f"{folder}/store", [int(word) for word in sys.argv[1:] or ["32"]])
        torch.multiprocessing.spawn(train, arguments, nprocs=GPUS)
