"""Which image each job starts from: by its own record, or by the user's map."""

import fnmatch
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from trimtab.batch.readers.csv_rows import read_rows
from trimtab.batch.readers.head import read_head
from trimtab.batch.readers.text_tables import text_columns
from trimtab.errors import UserError

_OF_JOBS = ("name", "user", "group", "queue")
_EXPECTED = (
    "expected a CSV with a header: image, and of name,user,group,queue those that patterns such as"
    " `train*` are of; a job takes the image of the first row that fits"
)


class _Rule(NamedTuple):
    image: str
    patterns: Mapping[str, str]


def map_images(jobs: pd.DataFrame, file: Path, table: Path) -> pd.DataFrame:
    """Return jobs (BATCH_JOBS) of `file` with the images that `table` gives them.

    A job takes the first row whose patterns all fit; an empty one fits any. Of `sacct`, a name is
    the JobName where the file has it, else the JobID. Jobs that no row fits keep their image.
    Raises UserError with the line and what was expected.
    """
    rules = list(_rules(table))
    texts = {name: jobs[name].astype(str) for name in _OF_JOBS}
    names = _job_names(file)
    texts["name"] = texts["name"].map(lambda name: names.get(name, name))
    image, left = jobs["image"].astype(str).to_numpy(object), np.ones(len(jobs), bool)
    for rule in rules:
        fits = left.copy()
        for name, pattern in rule.patterns.items():
            fits &= _fits(texts[name], pattern)
        image[fits] = rule.image
        left &= ~fits
    return jobs.assign(image=image)


def _rules(table: Path) -> Iterator[_Rule]:
    for row in read_rows(table, ("image", *_OF_JOBS), ("image",), _EXPECTED):
        if not row.texts["image"]:
            raise UserError(f"{row.place}: image: empty; {_EXPECTED}")
        patterns = {name: row.texts[name] for name in _OF_JOBS if row.texts.get(name)}
        yield _Rule(row.texts["image"], patterns)


def _fits(texts: "pd.Series[str]", pattern: str) -> np.ndarray:
    codes, distinct = pd.factorize(texts)
    expression = re.compile(fnmatch.translate(pattern))
    fitting = np.array([expression.match(text) is not None for text in distinct], bool)
    return np.asarray(fitting[codes])


def _job_names(file: Path) -> dict[str, str]:
    """Return Slurm's JobName by JobID; nothing for another file."""
    head = read_head(file)
    if not {"JobID", "JobName"} <= set(head.header):
        return {}
    wanted = [head.header.index(name) for name in ("JobID", "JobName")]
    skipped: list[int] = []
    names: dict[str, str] = {}
    for identity, name in text_columns(
        file, head.header, wanted, head.separator, "the output of sacct -P", skipped
    ):
        names.update(zip(identity.to_pylist(), name.to_pylist(), strict=True))
    return names


def images_without_row(jobs: pd.DataFrame, known: Collection[str]) -> "pd.Series[int]":
    """Return how many jobs name each image that is not in `known`, the most first."""
    counts = jobs["image"].astype(str).value_counts()
    return counts[~counts.index.isin([*known, ""])]
