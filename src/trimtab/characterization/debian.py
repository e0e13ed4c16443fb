"""Data sets in Debian packages: read in their own formats, and kept as Parquet.

`rdata` reads R's; `make deps-data` installs it beside this environment, as nothing else needs it. A
file has one number per record in every column; `label` is the target. Texts have their words in a
column `text` instead. `source` in the file's metadata is the origin of a copy.
"""

import gzip
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from trimtab.errors import UserError
from trimtab.files import atomic_write

# A line of an ARFF file with a text and a class of two: 'It\'s a text\n',0
_LINE = re.compile(r"'(.*)',([01])")
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True)
class RDataFrame:
    """A data frame of R: its `name` in a `library` of a `package`, and the column `label`."""

    package: str
    library: str
    name: str
    label: str


FRAMES = {
    "letter_recognition": RDataFrame("r-cran-mlbench", "mlbench", "LetterRecognition", "lettr"),
    "shuttle": RDataFrame("r-cran-mlbench", "mlbench", "Shuttle", "Class"),
    "spam": RDataFrame("r-cran-kernlab", "kernlab", "spam", "type"),
}
# Training and test part, in this order.
TEXTS = {"reuters_grain": ("weka", ("ReutersGrain-train.arff", "ReutersGrain-test.arff"))}
NAMES = (*FRAMES, *TEXTS)


def convert(root: Path, destination: Path) -> None:
    """Write `{name}.parquet` of every data set to `destination`, from packages unpacked in `root`.

    Raises UserError with the file where one is missing or invalid.
    """
    destination.mkdir(parents=True, exist_ok=True)
    for name, frame in FRAMES.items():
        path = root / f"usr/lib/R/site-library/{frame.library}/data/{frame.name}.rda"
        source = f"{frame.name} of {_version(root, frame.package)}"
        _write(destination / f"{name}.parquet", _of_r(path, frame), source)
    for name, (package, parts) in TEXTS.items():
        folder = root / f"usr/share/doc/{package}/examples"
        texts = [texts_of_arff(folder / part) for part in parts]
        texts = [part.assign(held_out=place == 1) for place, part in enumerate(texts)]
        stem = parts[0].partition("-")[0]
        source = f"{stem} of {_version(root, package)}"
        _write(destination / f"{name}.parquet", pd.concat(texts, ignore_index=True), source)


def _of_r(path: Path, frame: RDataFrame) -> pd.DataFrame:
    """Return a data frame of R as numbers; classes are numbered by their levels."""
    if not path.is_file():
        raise UserError(f"{path}: missing; expected the data of Debian's {frame.package}")
    import rdata

    with warnings.catch_warnings():  # these files predate R's marks of encodings
        warnings.simplefilter("ignore", UserWarning)
        found = rdata.read_rda(path)[frame.name]
    labels = found.pop(frame.label).cat.codes
    numbers: pd.DataFrame = found.astype(float)
    return numbers.assign(label=labels.to_numpy(dtype=float))


def texts_of_arff(path: Path) -> pd.DataFrame:
    """Return the texts and classes, 0 or 1, of a Weka file, one per line.

    Raises UserError with the file where it cannot be read or is invalid.
    """
    try:
        _, _, lines = path.read_text().partition("@data\n")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    return pd.DataFrame(_documents(path, lines), columns=["text", "label"])


def _documents(path: Path, lines: str) -> Iterator[tuple[str, float]]:
    for line in filter(None, lines.splitlines()):
        match = _LINE.fullmatch(line)
        if match is None:
            raise UserError(f"{path}: expected a text and its class, 0 or 1, got {line[:40]!r}")
        yield (
            _ESCAPED.sub(lambda found: " " if found[1] in "nrt" else found[1], match[1]),
            float(match[2]),
        )


def _version(root: Path, package: str) -> str:
    """Return a Debian package with its version, from the first line of its changelog."""
    path = root / f"usr/share/doc/{package}/changelog.Debian.gz"
    try:
        with gzip.open(path, "rt") as file:
            match = re.match(rf"({re.escape(package)}) \(([^)]+)\)", file.readline())
    except OSError:
        match = None
    if match is None:
        raise UserError(f"{path}: no changes of Debian's {package}; expected its version")
    return f"Debian's {match[1]} {match[2]}"


def _write(path: Path, frame: pd.DataFrame, source: str) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with atomic_write(path) as temporary:
        pq.write_table(table.replace_schema_metadata({"source": source}), temporary)
