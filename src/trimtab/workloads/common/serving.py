"""Inference in PyTorch, for a tuner that measures the duration of batches."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils.data import DataLoader

import trimtab_trial


def serve(use: Callable[[Any], Any], batches: Iterable[Any]) -> None:
    """Call `use` with every batch, repeatedly, until the tuner ends the program."""
    with torch.inference_mode():
        for batch in trimtab_trial.batches(batches):
            use(batch)


def full_batches(samples: Any, batch_size: int, collate: Callable[[Any], Any] | None = None) -> Any:
    """Return a loader of full batches of `batch_size`.

    It covers all samples, in order, except an incomplete last batch; too few samples for one batch
    are repeated.
    """
    count = len(samples)
    whole = max(count // batch_size, 1) * batch_size
    return DataLoader(
        samples, batch_size, sampler=[at % count for at in range(whole)], collate_fn=collate
    )
