"""Using a model, in PyTorch, for a tuner that measures how long batches take."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils.data import DataLoader

import trimtab_trial


def serve(use: Callable[[Any], Any], batches: Iterable[Any]) -> None:
    """Call `use` with every batch, again and again, until the tuner ends the program."""
    with torch.inference_mode():
        for batch in trimtab_trial.batches(batches):
            use(batch)


def full_batches(samples: Any, batch_size: int, collate: Callable[[Any], Any] | None = None) -> Any:
    """Return a loader of batches of `batch_size`, each of them full.

    They are of all samples, in order, but those that would not fill a batch; where the samples are
    too few for one, some are taken again.
    """
    count = len(samples)
    whole = max(count // batch_size, 1) * batch_size
    return DataLoader(
        samples, batch_size, sampler=[at % count for at in range(whole)], collate_fn=collate
    )
