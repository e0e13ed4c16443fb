"""Training and inference of image classifiers."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import trimtab_trial
from trimtab.workloads.common.command import mark_epoch, mark_first_iteration
from trimtab.workloads.common.program import load_weights, save_weights, share_of
from trimtab.workloads.common.serving import full_batches, serve
from trimtab.workloads.common.trial import Trial
from trimtab.workloads.data import Bytes, Images, Labels

LEARNING_RATE = 1e-3
Loader = Callable[[Path | None, int | None, int | None], Images]


def run(options: Namespace, build: Callable[[], Any], load: Loader) -> dict[str, Any]:
    """Train the model that `build` returns, or only classify the test images with it.

    The model maps float32 images [batch, channels, height, width] from -1 to 1 to logits
    [batch, 10]. Returns the metrics: mean cross-entropy of every epoch of training, and
    cross-entropy and accuracy over the test images.
    """
    images = load(options.data, options.train_samples, options.test_samples)
    images = images.first(share_of(len(images.train_labels), options), None)
    model = build()
    metrics: dict[str, Any] = {
        "data": {"name": images.name, "source": images.source},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "weights": load_weights(model, options),
    }
    # Weights are drawn on the CPU, so that a seed gives the same ones on every device.
    model.to(options.device)
    training = options.phase == "train"
    if trimtab_trial.tuned() and not training:
        model.eval()
        serve(
            lambda pixels: model(scaled(pixels.to(options.device))).cpu(),
            full_batches(torch.from_numpy(images.test_images), options.batch_size),
        )
    if training:
        metrics["train_samples"] = len(images.train_labels)
        metrics["train_loss"] = train(model, images, options)
        save_weights(model, options)
    loss, accuracy = evaluate(model, images, options.batch_size, mark=not training)
    test = {"test_samples": len(images.test_labels), "test_loss": loss, "test_accuracy": accuracy}
    return metrics | test


def train(model: Any, images: Images, options: Namespace) -> list[float]:
    """Train `model` with Adam, where it lies, and return the mean cross-entropy of each epoch.

    As a trial of a tuner it goes on from its checkpoint, and reports each epoch.
    """
    dataset = labelled(images.train_images, images.train_labels)
    order = torch.Generator().manual_seed(options.seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    device = next(model.parameters()).device
    trial = Trial(device, order, model=model, optimiser=optimiser)
    model.train()
    for epoch in range(trial.first, options.epochs + 1):
        batches = DataLoader(
            dataset, options.batch_size, shuffle=True, generator=order,
            num_workers=trial.loader_workers,
        )  # fmt: skip
        total = 0.0
        for step, (pixels, labels) in enumerate(batches):
            optimiser.zero_grad()
            pixels, labels = pixels.to(device), labels.to(device)
            loss = nn.functional.cross_entropy(model(scaled(pixels)), labels)
            loss.backward()
            optimiser.step()
            total += loss.item() * len(labels)
            if epoch == trial.first and step == 0:
                mark_first_iteration()
        trial.losses.append(total / len(dataset))
        mark_epoch(epoch, trial.losses[-1])
        trial.epoch_end(epoch, lambda: evaluate(model, images, options.batch_size, mark=False))
    return trial.losses


def evaluate(model: Any, images: Images, batch_size: int, mark: bool) -> tuple[float, float]:
    """Return mean cross-entropy and accuracy over the test images.

    With `mark` the first batch is announced as the program's first iteration.
    """
    dataset = labelled(images.test_images, images.test_labels)
    loss, correct = 0.0, 0
    device = next(model.parameters()).device
    model.eval()
    with torch.inference_mode():
        for number, (pixels, labels) in enumerate(DataLoader(dataset, batch_size)):
            pixels, labels = pixels.to(device), labels.to(device)
            logits = model(scaled(pixels))
            loss += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
            correct += int((logits.argmax(dim=1) == labels).sum())
            if mark and number == 0:
                mark_first_iteration()
    return loss / len(dataset), correct / len(dataset)


def labelled(images: Bytes, labels: Labels) -> Any:
    """Return images with their labels as a data set of PyTorch."""
    return TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))


def scaled(pixels: Any) -> Any:
    """Return uint8 pixels as float32 from -1 to 1."""
    return pixels.float() / 127.5 - 1
