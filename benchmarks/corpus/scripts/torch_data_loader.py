"""Batches of worker processes that are forked or started anew, and a model trained on them."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class Waves(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        x = torch.linspace(0, 6, 32) * (1 + index % 5)
        return torch.sin(x), index % 5


def main(start, count):
    torch.manual_seed(0)
    sampler = WeightedRandomSampler(
        torch.ones(count), count, generator=torch.Generator().manual_seed(1)
    )
    loader = DataLoader(
        Waves(count), 16, sampler=sampler, num_workers=2, multiprocessing_context=start
    )
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 5))
    optimizer = torch.optim.SGD(model.parameters(), 0.2, momentum=0.9)
    for epoch in range(2):
        losses = []
        for waves, kinds in loader:
            loss = nn.functional.cross_entropy(model(waves), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(epoch, len(losses), f"{sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
