"""Slurm's trackable resources: `billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=2`."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from trimtab.batch.readers.gpu_models import gpu_model, slice_share
from trimtab.batch.readers.values import UNKNOWN, UnreadableError, memory_of

_MIB = 2.0**20
_GPU = "gres/gpu"


class Resources(NamedTuple):
    """What a job asks for, or has, on all its nodes together; NaN where the text does not say it.

    `gpus` is a share of a GPU for slices of one (MIG).
    """

    cores: float = np.nan
    memory_bytes: float = np.nan
    nodes: float = np.nan
    gpus: float = np.nan
    gpu_type: str = ""


def resources(text: pa.Array) -> pd.DataFrame:
    """Return the Resources of each ReqTRES or AllocTRES; UnreadableError for other text."""
    encoded = text.fill_null("").dictionary_encode()
    rows = []
    for number, each in enumerate(encoded.dictionary.to_pylist()):
        try:
            rows.append(_resources(each))
        except ValueError:
            row = int(np.flatnonzero(encoded.indices.to_numpy() == number)[0])
            raise UnreadableError(row, each, "such as cpu=8,mem=64G,node=1") from None
    types = dict.fromkeys(Resources._fields[:-1], np.float64)
    known = pd.DataFrame(rows, columns=Resources._fields).astype({**types, "gpu_type": str})
    return known.take(encoded.indices.to_numpy()).reset_index(drop=True)


def _resources(text: str) -> Resources:
    """Return the resources of a text; raises ValueError for other text.

    GPUs of several models count together, of any model. Others than GPUs are ignored.
    """
    text = text.strip()
    if text.lower() in UNKNOWN.to_pylist():
        return Resources()
    values = {"cpu": np.nan, "mem": np.nan, "node": np.nan}
    total, by_model = 0.0, dict[str, float]()
    for item in filter(None, text.split(",")):
        name, equals, amount = item.partition("=")
        if not equals:
            raise ValueError(item)
        if name in values:
            values[name] = _amount(amount, _MIB if name == "mem" else 1.0)
        elif name == _GPU:
            total = _amount(amount)
        elif name.startswith(f"{_GPU}:"):
            model = name.removeprefix(f"{_GPU}:")
            share = slice_share(model)
            by_model[model] = _amount(amount) * (1.0 if share is None else share)
    if by_model:
        # The count without a model repeats those with one, and counts a slice as one.
        typed = sum(by_model.values())
        total = typed if any(map(slice_share, by_model)) else max(total, typed)
    models = {gpu_model(model) for model in by_model}
    return Resources(
        cores=values["cpu"],
        memory_bytes=values["mem"],
        nodes=values["node"],
        gpus=total,
        gpu_type=models.pop() if len(models) == 1 else "",
    )


def _amount(text: str, unit: float = 1.0) -> float:
    """Return a number of `unit`, or with a binary unit; raises ValueError for other text."""
    amount = memory_of(text, unit)
    if np.isnan(amount):
        raise ValueError(text)
    return amount
