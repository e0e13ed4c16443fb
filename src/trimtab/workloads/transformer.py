"""The Transformer (Vaswani et al. 2017) translating English to German."""

from argparse import Namespace
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

import trimtab_trial
from trimtab.workloads.common import program
from trimtab.workloads.common.command import mark_epoch, mark_first_iteration
from trimtab.workloads.common.serving import full_batches, serve
from trimtab.workloads.common.translation_model import TranslationModel
from trimtab.workloads.common.trial import Trial
from trimtab.workloads.data import held_out, translation
from trimtab.workloads.data.translation import PADDING, Pair, Vocabulary

_WARM_UP_STEPS = 400
Batch = tuple[Any, Any]


def run(options: Namespace) -> dict[str, Any]:
    """Train the Transformer, or translate the first batch of the test pairs with it.

    A sixth of the training pairs, drawn by the seed, is held out for validation. Returns the
    metrics: the mean cross-entropy per token of every training epoch; cross-entropy and accuracy
    per token of the validation and the test pairs, each token given those before it; and for
    inference the greedy translations.
    """
    pairs = translation.load(options.data)
    # From all training pairs, regardless of --train-samples, so saved weights fit.
    english = Vocabulary(source for source, _ in pairs.train)
    german = Vocabulary(target for _, target in pairs.train)
    test = encoded(pairs.test[: options.test_samples], english, german)
    model = TranslationModel(len(english), len(german))
    metrics: dict[str, Any] = {
        "data": {"name": pairs.name, "source": pairs.source},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "vocabulary": {"english": len(english), "german": len(german)},
        "weights": program.load_weights(model, options),
    }
    # Weights are drawn on the CPU, so a seed gives equal ones on every device.
    model.to(options.device)
    if options.phase == "train":
        both = encoded(pairs.train[: options.train_samples], english, german)
        is_held_out = held_out(len(both), options.seed)
        validation = [pair for pair, out in zip(both, is_held_out, strict=True) if out]
        training = [pair for pair, out in zip(both, is_held_out, strict=True) if not out]
        training = training[: program.share_of(len(training), options)]
        metrics["train_samples"] = len(training)
        metrics["validation_samples"] = len(validation)
        splits = {"validation": validation, "test": test}
        metrics["train_loss"] = train(model, training, splits, options)
        program.save_weights(model, options)
    else:
        if trimtab_trial.tuned():
            serve(
                lambda batch: model.translate(batch[0].to(options.device)).cpu(),
                full_batches(test, options.batch_size, collate),
            )
        splits = {"test": test[: options.batch_size]}
        sources, _ = collate(splits["test"])
        translations = model.translate(sources.to(options.device)).tolist()
        mark_first_iteration()
        metrics["translations"] = [german.decode(numbers) for numbers in translations]
    metrics["test_samples"] = len(splits["test"])
    return metrics | evaluate_all(model, splits, options.batch_size)


def train(
    model: Any, pairs: list[Batch], splits: dict[str, list[Batch]], options: Namespace
) -> list[float]:
    """Train `model` as in section 5 of the paper; return the mean cross-entropy of each epoch.

    Adam with the learning rate of equation 3 (here with 400 steps of warm-up for little data) and
    label smoothing of 0.1. As a trial of a tuner, it resumes from its checkpoint and reports each
    epoch with its results on the `splits`.
    """
    order = torch.Generator().manual_seed(options.seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: learning_rate(step + 1, model.width)
    )
    device = model.positions.device
    trial = Trial(device, order, model=model, optimiser=optimiser, schedule=schedule)
    model.train()
    for epoch in range(trial.first, options.epochs + 1):
        batches = DataLoader(
            pairs, options.batch_size, shuffle=True, generator=order, collate_fn=collate,
            num_workers=trial.loader_workers,
        )  # fmt: skip
        total, tokens = 0.0, 0
        for step, (sources, targets) in enumerate(batches):
            optimiser.zero_grad()
            sources, targets = sources.to(device), targets.to(device)
            loss, count = _loss(model(sources, targets[:, :-1]), targets[:, 1:], smoothing=0.1)
            (loss / count).backward()
            optimiser.step()
            schedule.step()
            total, tokens = total + loss.item(), tokens + count
            if epoch == trial.first and step == 0:
                mark_first_iteration()
        trial.losses.append(total / tokens)
        mark_epoch(epoch, trial.losses[-1])
        trial.epoch_end(epoch, lambda: evaluate_all(model, splits, options.batch_size))
    return trial.losses


def learning_rate(step: int, width: int) -> float:
    """Return the learning rate of equation 3 at `step` (from 1) for a model of `width`."""
    return float(width**-0.5 * min(step**-0.5, step * _WARM_UP_STEPS**-1.5))


def evaluate_all(model: Any, splits: dict[str, list[Batch]], batch_size: int) -> dict[str, float]:
    """Return the metrics over each split, by name."""
    metrics = dict[str, float]()
    for name, pairs in splits.items():
        loss, accuracy = evaluate(model, pairs, batch_size)
        metrics |= {f"{name}_loss": loss, f"{name}_accuracy": accuracy}
    return metrics


def evaluate(model: Any, pairs: list[Batch], batch_size: int) -> tuple[float, float]:
    """Return cross-entropy and accuracy per token, each given the tokens before it."""
    total, correct, tokens = 0.0, 0, 0
    device = model.positions.device
    model.eval()
    with torch.inference_mode():
        for sources, targets in DataLoader(pairs, batch_size, collate_fn=collate):
            sources, targets = sources.to(device), targets.to(device)
            logits, expected = model(sources, targets[:, :-1]), targets[:, 1:]
            loss, count = _loss(logits, expected, smoothing=0.0)
            total, tokens = total + loss.item(), tokens + count
            correct += int((logits.argmax(-1) == expected)[expected != PADDING].sum())
    return total / tokens, correct / tokens


def collate(pairs: list[Batch]) -> Batch:
    """Return sources and targets as int64 [batch, longest], padded at the end."""
    sources, targets = zip(*pairs, strict=True)
    return (
        pad_sequence(sources, batch_first=True, padding_value=PADDING),
        pad_sequence(targets, batch_first=True, padding_value=PADDING),
    )


def encoded(pairs: list[Pair], english: Vocabulary, german: Vocabulary) -> list[Batch]:
    """Return each pair as two int64 tensors of token numbers."""
    return [(torch.tensor(english.encode(a)), torch.tensor(german.encode(b))) for a, b in pairs]


def _loss(logits: Any, expected: Any, smoothing: float) -> tuple[Any, int]:
    """Return the summed cross-entropy over tokens without padding, and their number."""
    loss = nn.functional.cross_entropy(
        logits.flatten(0, 1),
        expected.flatten(),
        ignore_index=PADDING,
        reduction="sum",
        label_smoothing=smoothing,
    )
    return loss, int((expected != PADDING).sum())


if __name__ == "__main__":
    program.main("The Transformer translating English to German.", 32, run)
