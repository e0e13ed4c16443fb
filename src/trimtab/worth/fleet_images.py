"""The images of a cluster, from a CSV file: their sizes and starts, and those of slim ones."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

from trimtab.batch.readers.csv_rows import TextRow, read_rows
from trimtab.errors import UserError
from trimtab.records.imports.saved_starts import WorkloadStart
from trimtab.worth.measured import MeasuredImage, MeasuredSide, read_measured

_EACH = ("bytes", "cold_start_s", "warm_start_s")
_COLUMNS = (
    "image",
    *_EACH,
    *(f"slim_{name}" for name in _EACH),
    "slimming_s",
    "tuned_run_share",
    "measured",
    "layers",
    "slim_layers",
    "slim_restore_share",
    "slim_restore_s",
)
_EXPECTED = (
    "expected a CSV with a header: image,bytes, and if known cold_start_s,warm_start_s,slim_bytes,"
    "slim_cold_start_s,slim_warm_start_s,slimming_s,tuned_run_share,measured,layers,slim_layers,"
    "slim_restore_share,slim_restore_s"
)
COLD, SLIM_COLD, SLIM_BYTES = "cold start", "cold start of the slim image", "size of the slim image"

_KnownLayers = dict[str, tuple[float, str]]  # bytes and place by digest


class Side(NamedTuple):
    """An image: its compressed size, or None; its pull and unpacking; its start on a warm node.

    `layers` are compressed bytes by digest, or None if they are not known. `restore_s`: how much
    longer a start takes on average, as some of them bring back what a slim image lacks.
    `snapshot_s`: how much longer the first start on a node takes, which has no snapshot yet.
    """

    size_bytes: float | None
    fetch_s: float
    warm_s: float
    layers: Mapping[str, float] | None = None
    restore_s: float = 0.0
    snapshot_s: float = 0.0


@dataclass(frozen=True)
class FleetImage:
    """An image, and its slim one, or None if that is not known.

    `modelled` says which figures are not measured. `tuned_run_share`: the run time of its jobs once
    tuned, as a share; `slimming_s`: how long it took to make it slim. `start_in_run_s`: how much of
    a warm start the run times of its jobs contain.
    """

    original: Side
    slim: Side | None
    modelled: tuple[str, ...]
    tuned_run_share: float | None
    slimming_s: float | None
    start_in_run_s: float = 0.0

    def with_start(self, start: WorkloadStart | None, usual_s: float | None = None) -> Self:
        """Return the image with starts of the slim one from a snapshot, if that was saved.

        `usual_s` is what the pairs' usual runs took on another day: the pairs' share of it counts.
        Without it their seconds do. What of these the slim one's warm start does not contain was a
        part of the jobs' run times. It is now one of both warm starts.
        """
        if self.slim is None or start is None or not start.saved_s:
            return self
        warm_s = self.slim.warm_s
        saved_s = start.saved_s if usual_s is None else start.saved_share * usual_s
        in_run_s = max(0.0, saved_s - warm_s)
        took_s = None if self.slimming_s is None else self.slimming_s + (start.making_s or 0.0)
        return replace(
            self,
            original=self.original._replace(warm_s=self.original.warm_s + in_run_s),
            slim=self.slim._replace(warm_s=max(0.0, warm_s - saved_s), snapshot_s=saved_s),
            slimming_s=took_s,
            start_in_run_s=in_run_s,
        )


class Assumed(NamedTuple):
    """How fast a node pulls an image (Mbit/s) and unpacks it (compressed MB/s).

    `registry_mbit_per_s`: how fast the registry sends to all nodes together. `slim_share` is the
    size of slim images that are not known, relative to the originals'.
    """

    pull_mbit_per_s: float = 1000.0
    unpack_mb_per_s: float = 100.0
    slim_share: float | None = None
    registry_mbit_per_s: float = math.inf

    def fetch_s(self, size_bytes: float) -> float:
        """Return how long a node takes to pull and unpack so many compressed bytes."""
        pull_s = 8 * size_bytes / (self.pull_mbit_per_s * 1e6)
        return pull_s + size_bytes / (self.unpack_mb_per_s * 1e6)


DEFAULTS = Assumed()


def read_fleet(path: Path, assumed: Assumed) -> dict[str, FleetImage]:
    """Return the images by name.

    A cold start that is absent is modelled: a warm start, and pull and unpacking as `assumed`. That
    of a slim image takes as much less as its size, where the original's is measured. A warm start
    that is absent is 0 s, that of a slim image as its original's, less what a snapshot saves.
    `measured` names a document: of `trimtab image start`; of `image compare`, whose pull and
    unpacking add the warm start; or the folder of a slim image or environment. Numbers in the CSV
    take precedence, and of sizes those of `layers`. Raises UserError with file, line, column, and
    what was expected.
    """
    images: dict[str, FleetImage] = {}
    known: _KnownLayers = {}
    for row in read_rows(path, _COLUMNS, ("image",), _EXPECTED):
        name = row.texts["image"]
        if not name or name in images:
            raise UserError(f"{row.place}: image {name[:60]!r}: expected each name once")
        images[name] = _image(path, row, assumed, known)
    if not images:
        raise UserError(f"{path}: no row; {_EXPECTED}")
    return images


def _image(path: Path, row: TextRow, assumed: Assumed, known: _KnownLayers) -> FleetImage:
    document = row.texts.get("measured", "")
    found = read_measured(path.parent / document, row.place) if document else MeasuredImage()
    layers, slim_layers = (_layers(row, column, known) for column in ("layers", "slim_layers"))
    size, cold, warm = _known(row, "", found.before, layers)
    slim_size, slim_cold, slim_warm = _known(row, "slim_", found.after, slim_layers)
    if size is None and cold is None:
        raise UserError(f"{row.place}: expected bytes, cold_start_s or measured of each image")
    modelled = []
    warm = warm or 0.0
    if cold is None:
        fetch_s = found.before.fetch_s
        if fetch_s is None:
            assert size is not None
            modelled.append(COLD)
            fetch_s = assumed.fetch_s(size)
        cold = warm + fetch_s
    original = _side(row, "cold_start_s", size, cold, warm)._replace(layers=layers)
    if slim_size is None and assumed.slim_share is not None and size is not None:
        modelled.append(SLIM_BYTES)
        slim_size = assumed.slim_share * size
    slim = None
    if slim_size is not None or slim_cold is not None:
        slim_warm = warm if slim_warm is None else slim_warm
        if slim_cold is None:
            fetch_s = found.after.fetch_s
            if fetch_s is None:
                assert slim_size is not None
                modelled.append(SLIM_COLD)
                of_size_s = assumed.fetch_s(slim_size)
                fetch_s = original.fetch_s * slim_size / size if size else of_size_s
            slim_cold = slim_warm + fetch_s
        slim = _side(row, "slim_cold_start_s", slim_size, slim_cold, slim_warm)
        slim = slim._replace(layers=slim_layers, restore_s=_restore_s(row))
    slimming_s = _first((row.number("slimming_s"), found.slimming_s))
    image = FleetImage(original, slim, tuple(modelled), _tuned(row), slimming_s)
    return image if row.number("slim_warm_start_s") is not None else image.with_start(found.start)


def _known(
    row: TextRow,
    prefix: str,
    measured: MeasuredSide,
    layers: Mapping[str, float] | None,
) -> list[float | None]:
    given = [row.number(f"{prefix}{name}") for name in _EACH]
    if layers is not None:
        given[0] = sum(layers.values())
    return [_first(pair) for pair in zip(given, measured[:3], strict=True)]


def _layers(row: TextRow, column: str, known: _KnownLayers) -> dict[str, float] | None:
    """Return layers by digest; `known` are those of rows before, to which they are added."""
    layers: dict[str, float] = {}
    for text in row.texts.get(column, "").split():
        digest, _, size = text.rpartition(":")
        if not digest or not re.fullmatch(r"\d{1,15}", size):
            raise UserError(
                f"{row.place}: {column}: {text[:80]!r}, expected DIGEST:BYTES of each layer,"
                " separated by spaces"
            )
        known_size, place = known.setdefault(digest, (float(size), row.place))
        if float(size) != known_size:
            raise UserError(
                f"{row.place}: {column}: {text[:80]!r}, but {known_size:.0f} bytes at {place};"
                " expected the same BYTES wherever a digest stands"
            )
        layers[digest] = known_size
    return layers or None


def _first(values: Iterable[float | None]) -> float | None:
    return next((value for value in values if value is not None), None)


def _side(row: TextRow, column: str, size: float | None, cold_s: float, warm_s: float) -> Side:
    if cold_s < warm_s:
        raise UserError(
            f"{row.place}: {column}: {cold_s:g} s, expected no less than the warm start, {warm_s:g}"
        )
    return Side(size, cold_s - warm_s, warm_s)


def _restore_s(row: TextRow) -> float:
    """Return how much longer starts of a slim image take on average, as some restore."""
    share, time_s = row.number("slim_restore_share"), row.number("slim_restore_s")
    if share is None and time_s is None:
        return 0.0
    if share is None or time_s is None or not 0 <= share <= 1:
        raise UserError(
            f"{row.place}: slim_restore_share, slim_restore_s: expected the share of starts that"
            " restore something, 0 to 1, and how much longer they take, in seconds"
        )
    return share * time_s


def _tuned(row: TextRow) -> float | None:
    share = row.number("tuned_run_share")
    if share is not None and not 0 < share <= 10:
        raise UserError(
            f"{row.place}: tuned_run_share: {share:g}, expected the tuned run time relative to the"
            " present one, such as 0.8"
        )
    return share


def about(images: Iterable[FleetImage], assumed: Assumed) -> Iterator[str]:
    """Yield what is modelled or saved of the images that jobs use, as sentences."""
    images = list(images)
    counts = Counter(what for each in images for what in each.modelled)
    said = {
        COLD: f"by {assumed.pull_mbit_per_s:,g} Mbit/s and {assumed.unpack_mb_per_s:,g} MB/s"
        " unpacked, of compressed bytes",
        SLIM_COLD: "pull and unpacking take as much less as the size",
        SLIM_BYTES: f"assumed as {assumed.slim_share or 0:.0%} of the original",
    }
    for what, how in said.items():
        if counts[what]:
            yield f"modelled {what}, {how}: images: {counts[what]:,}"
    saved_s = sorted(each.slim.snapshot_s for each in images if each.slim and each.slim.snapshot_s)
    if saved_s:
        shortest_s, longest_s = (f"{seconds:.2f}" for seconds in (saved_s[0], saved_s[-1]))
        span = shortest_s if shortest_s == longest_s else f"{shortest_s} to {longest_s}"
        yield (
            f"starts from snapshots take {span} s less, by the medians of measured pairs: images:"
            f" {len(saved_s):,}; the first start on a node is a usual one, and saving it there does"
            " not count"
        )
