"""MobileNetV2 trained by several processes, one per GPU, with DistributedDataParallel.

Under torchrun it is one process of a group, else the only one. NCCL averages gradients on GPUs,
Gloo on CPUs.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from trimtab.workloads.common import classification, command, torch_device
from trimtab.workloads.data import Split, cifar10
from trimtab.workloads.mobilenetv2 import MobileNetV2

_LEARNING_RATE = 1e-3


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train on this process's share of the images and return the metrics.

    Test metrics are this process's own, as are its batch normalisation statistics.
    """
    device = torch_device.prepare(arguments.device, arguments.seed)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    join("nccl" if device.type == "cuda" else "gloo")
    try:
        images = cifar10.load(arguments.data, arguments.train_samples, arguments.test_samples)
        model = DistributedDataParallel(MobileNetV2().to(device))
        losses = train(model, images.train, arguments, device)
        loss, accuracy = classification.evaluate(
            model.module, images.test, arguments.batch_size, mark=False
        )
        return {
            "data": {"name": images.name, "source": images.source},
            "device": torch_device.described(device),
            "torch": torch.__version__,
            "backend": distributed.get_backend(),
            "processes": distributed.get_world_size(),
            "train_samples": len(images.train.labels),
            "train_loss": losses,
            "test_loss": loss,
            "test_accuracy": accuracy,
        }
    finally:
        distributed.destroy_process_group()


def join(backend: str) -> None:
    """Join torchrun's group from the environment, or make one of this process."""
    if "RANK" in os.environ:
        distributed.init_process_group(backend)
    else:
        distributed.init_process_group(backend, store=distributed.HashStore(), rank=0, world_size=1)


def train(model: Any, images: Split, arguments: argparse.Namespace, device: Any) -> list[float]:
    """Train with Adam; return the mean cross-entropy of each epoch over all processes.

    Each process takes every n-th sample of the epoch's order, `batch_size` at a time.
    """
    dataset = classification.labelled(images)
    sampler: Any = DistributedSampler(dataset, seed=arguments.seed)
    batches = DataLoader(dataset, arguments.batch_size, sampler=sampler)
    optimiser = torch.optim.Adam(model.parameters(), lr=_LEARNING_RATE)
    first = distributed.get_rank() == 0
    losses: list[float] = []
    model.train()
    for epoch in range(1, arguments.epochs + 1):
        sampler.set_epoch(epoch)
        total = torch.zeros(2, dtype=torch.float64, device=device)  # loss, samples
        for step, (pixels, labels) in enumerate(batches):
            pixels, labels = pixels.to(device), labels.to(device)
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(classification.scaled(pixels)), labels)
            loss.backward()
            optimiser.step()
            total += torch.tensor([loss.item() * len(labels), len(labels)], device=device)
            if first and epoch == 1 and step == 0:
                command.mark_first_iteration()
        distributed.all_reduce(total)
        losses.append((total[0] / total[1]).item())
        if first:
            command.mark_epoch(epoch, losses[-1])
    return losses


if __name__ == "__main__":
    options = command.parser("MobileNetV2 on CIFAR-10, one process a GPU (see torchrun).")
    options.add_argument("--data", type=Path, help="as of mobilenetv2.py")
    options.add_argument("--epochs", type=command.positive, default=1)
    options.add_argument("--batch-size", type=command.positive, default=32, help="of each process")
    options.add_argument("--train-samples", type=command.positive, help="keep the first of them")
    options.add_argument("--test-samples", type=command.positive, help="keep the first of them")
    arguments = options.parse_args()
    if os.environ.get("RANK", "0") == "0":
        command.write_result(lambda: run(arguments) | {"seed": arguments.seed}, arguments.output)
    else:
        run(arguments)
