"""k-means over partitions of the data, as on Spark, on MNIST; similar to Rodinia's."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from trimtab.workloads.common import command, iterations
from trimtab.workloads.common.classification import scaled
from trimtab.workloads.common.command import positive
from trimtab.workloads.common.program import share_of
from trimtab.workloads.data import InputError, Split, mnist

_PASSES = 10  # per epoch


class KMeans(nn.Module):  # type: ignore[misc]
    """Centres, float32 [clusters, features], initially drawn from the samples.

    An epoch is ten passes over random partitions of `batch_size` samples. A partition moves each
    centre by `learning_rate` towards the mean of its nearest samples; with one partition and a rate
    of 1, this is Lloyd's algorithm. The loss is the mean squared distance relative to the variance.
    The accuracy is for giving samples the most frequent label of their cluster.
    """

    def __init__(
        self, training: Split, splits: dict[str, Split], clusters: int, learning_rate: float,
        batch_size: int, seed: int,
    ) -> None:  # fmt: skip
        super().__init__()
        if clusters > len(training):
            raise InputError(f"--clusters {clusters}: there are {len(training)} samples")
        self.samples, self.labels = _flat(training)
        self.splits = {name: _flat(split) for name, split in splits.items()}
        self.learning_rate, self.batch_size = learning_rate, batch_size
        self.variance = self.samples.var(dim=0, correction=0).sum()
        drawn = torch.randperm(len(self.samples), generator=torch.Generator().manual_seed(seed))
        self.register_buffer("centres", self.samples[drawn[:clusters]].clone())

    def advance(self, order: Any) -> float:
        """Let each partition move the centres, and return the loss."""
        for _ in range(_PASSES):
            drawn = torch.randperm(len(self.samples), generator=order)
            for chosen in drawn.split(self.batch_size):
                self._move(self.samples[chosen])
        return float(self._nearest(self.samples)[1].mean() / self.variance)

    def _move(self, part: Any) -> None:
        members = nn.functional.one_hot(self._nearest(part)[0], len(self.centres)).float()
        counts = members.sum(dim=0)[:, None]
        means = members.T @ part / counts.clamp(min=1)
        step = torch.where(counts > 0, means - self.centres, 0)  # an empty cluster stays
        self.centres += self.learning_rate * step

    def quality(self) -> dict[str, float]:
        """Return the accuracy over each split."""
        clusters, _ = self._nearest(self.samples)
        votes = torch.zeros(len(self.centres), int(self.labels.max()) + 1)
        votes.index_put_((clusters, self.labels), torch.ones(len(clusters)), accumulate=True)
        label_of = votes.argmax(dim=1)
        metrics = {}
        for name, (samples, labels) in self.splits.items():
            right = label_of[self._nearest(samples)[0]] == labels
            metrics[f"{name}_accuracy"] = int(right.sum()) / len(labels)
        return metrics

    def _nearest(self, samples: Any) -> tuple[Any, Any]:
        """Return the cluster of each sample, and its squared distance from the centre."""
        squared = (samples**2).sum(dim=1, keepdim=True) + (self.centres**2).sum(dim=1)
        least = (squared - 2 * samples @ self.centres.T).min(dim=1)
        return least.indices, least.values.clamp(min=0)


def _flat(split: Split) -> tuple[Any, Any]:
    samples = scaled(torch.from_numpy(split.inputs)).flatten(1)
    return samples, torch.from_numpy(split.labels)


def build(arguments: Namespace) -> tuple[Any, dict[str, Any]]:
    """Return the computation and a description of its data."""
    images = mnist.load(arguments.data, arguments.train_samples, None)
    training, validation = images.train.held_out(arguments.seed)
    training = training.first(share_of(len(training), arguments))
    splits = {"validation": validation, "test": images.test}
    means = KMeans(
        training, splits, arguments.clusters, arguments.learning_rate, arguments.batch_size,
        arguments.seed,
    )  # fmt: skip
    return means, {
        "data": {"name": images.name, "source": images.source},
        "train_samples": len(training),
        "validation_samples": len(validation),
        "test_samples": len(images.test),
    }


if __name__ == "__main__":
    options = command.parser("k-means over partitions of MNIST.", devices=())
    iterations.add_options(options, batch_size=512)
    options.add_argument("--data", type=Path, help="local copy of MNIST, as of lenet5.py")
    options.add_argument("--train-samples", type=positive, help="keep the first of them")
    options.add_argument("--clusters", type=positive, default=30)
    options.add_argument("--learning-rate", type=float, default=1.0)
    iterations.main(options, build)
