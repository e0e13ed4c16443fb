"""Training and inference of classifiers of images, texts and sound."""

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
from trimtab.workloads.data import Samples, Split

LEARNING_RATE = 1e-3
Loader = Callable[[Path | None, int | None, int | None], Samples]


def run(options: Namespace, build: Callable[[Samples], Any], load: Loader) -> dict[str, Any]:
    """Train the model that `build` returns for the data, or only classify the test data with it.

    The model maps outputs of `scaled` to logits [batch, classes]. A sixth of the training data,
    drawn by the seed, is held out for validation. Returns the metrics: mean cross-entropy of every
    training epoch, and cross-entropy and accuracy over the validation and the test data.
    """
    samples = load(options.data, options.train_samples, options.test_samples)
    model = build(samples)
    metrics: dict[str, Any] = {
        "data": {"name": samples.name, "source": samples.source},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "weights": load_weights(model, options),
        "test_samples": len(samples.test),
    }
    # Weights are drawn on the CPU, so a seed gives equal ones on every device.
    model.to(options.device)
    if options.phase == "inference":
        if trimtab_trial.tuned():
            model.eval()
            serve(
                lambda inputs: model(scaled(inputs.to(options.device))).cpu(),
                full_batches(torch.from_numpy(samples.test.inputs), options.batch_size),
            )
        loss, accuracy = evaluate(model, samples.test, options.batch_size, mark=True)
        return metrics | {"test_loss": loss, "test_accuracy": accuracy}
    training, validation = samples.train.held_out(options.seed)
    training = training.first(share_of(len(training), options))
    metrics |= {"train_samples": len(training), "validation_samples": len(validation)}
    splits = {"validation": validation, "test": samples.test}
    metrics["train_loss"] = train(model, training, splits, options)
    save_weights(model, options)
    return metrics | evaluate_all(model, splits, options.batch_size)


def train(model: Any, training: Split, splits: dict[str, Split], options: Namespace) -> list[float]:
    """Train `model` with Adam, on its device, and return the mean cross-entropy of each epoch.

    As a trial of a tuner, it resumes from its checkpoint and reports each epoch, with its results
    on the `splits`.
    """
    dataset = labelled(training)
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
        for step, (inputs, labels) in enumerate(batches):
            optimiser.zero_grad()
            inputs, labels = inputs.to(device), labels.to(device)
            loss = nn.functional.cross_entropy(model(scaled(inputs)), labels)
            loss.backward()
            optimiser.step()
            total += loss.item() * len(labels)
            if epoch == trial.first and step == 0:
                mark_first_iteration()
        trial.losses.append(total / len(dataset))
        mark_epoch(epoch, trial.losses[-1])
        trial.epoch_end(epoch, lambda: evaluate_all(model, splits, options.batch_size))
    return trial.losses


def evaluate_all(model: Any, splits: dict[str, Split], batch_size: int) -> dict[str, float]:
    """Return the metrics over each split, by name."""
    metrics = dict[str, float]()
    for name, split in splits.items():
        loss, accuracy = evaluate(model, split, batch_size, mark=False)
        metrics |= {f"{name}_loss": loss, f"{name}_accuracy": accuracy}
    return metrics


def evaluate(model: Any, split: Split, batch_size: int, mark: bool) -> tuple[float, float]:
    """Return mean cross-entropy and accuracy over a split.

    With `mark` the first batch is announced as the program's first iteration.
    """
    dataset = labelled(split)
    loss, correct = 0.0, 0
    device = next(model.parameters()).device
    model.eval()
    with torch.inference_mode():
        for number, (inputs, labels) in enumerate(DataLoader(dataset, batch_size)):
            inputs, labels = inputs.to(device), labels.to(device)
            logits = model(scaled(inputs))
            loss += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
            correct += int((logits.argmax(dim=1) == labels).sum())
            if mark and number == 0:
                mark_first_iteration()
    return loss / len(dataset), correct / len(dataset)


def labelled(split: Split) -> Any:
    """Return samples with their labels as a PyTorch data set."""
    return TensorDataset(torch.from_numpy(split.inputs), torch.from_numpy(split.labels))


def scaled(inputs: Any) -> Any:
    """Return bytes (pixels) and 16-bit numbers (sound) as float32 from -1 to 1, tokens as is."""
    if inputs.dtype == torch.uint8:
        return inputs.float() / 127.5 - 1
    if inputs.dtype == torch.int16:
        return inputs.float() / 2**15
    return inputs
