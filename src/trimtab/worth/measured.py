"""Sizes and starts of an image from the documents of `trimtab image`."""

from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from trimtab.errors import TrimtabError, UserError
from trimtab.files import parse_json, read_limited
from trimtab.records.built_environment import CompressedEnvironment
from trimtab.records.images.cold_start import ColdSide, ColdStart
from trimtab.records.images.comparison import ImageComparison, ImageSide
from trimtab.records.imports.saved_starts import SavedStarts, WorkloadStart
from trimtab.records.manifest import Manifest

_MOST_BYTES = ImageComparison.most_bytes


class MeasuredSide(NamedTuple):
    """Compressed bytes, cold start and warm start; None where the document does not know.

    `fetch_s` is pull and unpacking, where the cold start, which adds the warm one, is not known.
    """

    size_bytes: float | None = None
    cold_s: float | None = None
    warm_s: float | None = None
    fetch_s: float | None = None


class MeasuredImage(NamedTuple):
    """An image before and after it was made slim, how long that took, and its saved start."""

    before: MeasuredSide = MeasuredSide()
    after: MeasuredSide = MeasuredSide()
    slimming_s: float | None = None
    start: WorkloadStart | None = None


def read_measured(path: Path, place: str) -> MeasuredImage:
    """Return what a document says: of `image start`, `image compare`, or a slim one's folder.

    Of the folder that `trimtab image slim` or `debloat` wrote, or its `manifest.json`, these are
    the compressed sizes of all files, the time of tracing, locating and rewriting, and the saved
    start, of several programs that which saves least. Raises UserError with `place` for anything
    else.
    """
    try:
        if path.is_dir() or path.name == "manifest.json":
            return _of_workspace(path if path.is_dir() else path.parent)
        keys = _keys(path)
        if "rounds" in keys.get("before", ()):
            start = ColdStart.read(path)
            return MeasuredImage(_of_start(start.before), _of_start(start.after))
        compared = ImageComparison.read(path)
        return MeasuredImage(_of_comparison(compared.before), _of_comparison(compared.after))
    except (TrimtabError, OSError, ValueError) as error:
        raise UserError(
            f"{place}: measured: {error}; expected the folder of `trimtab image slim` or"
            " `debloat`, or the --output of `trimtab image start` or `image compare`"
        ) from None


def _keys(path: Path) -> dict[str, Any]:
    document = parse_json(read_limited(path, _MOST_BYTES))
    if not isinstance(document, dict):
        raise ValueError(f"{path}: no object")
    return {key: value for key, value in document.items() if isinstance(value, dict)}


def _of_start(side: ColdSide) -> MeasuredSide:
    """Return the medians of all rounds. A round's start is with no file in memory."""
    cold_s = median(each.total_s for each in side.rounds)
    return MeasuredSide(side.compressed_bytes, cold_s, median(each.start_s for each in side.rounds))


def _of_comparison(side: ImageSide) -> MeasuredSide:
    fetch_s = side.transfer.wall_s + side.unpack.wall_s
    return MeasuredSide(side.compressed_bytes, fetch_s=fetch_s)


def _of_workspace(folder: Path) -> MeasuredImage:
    sizes = CompressedEnvironment.read(folder / "compressed.json")
    timings = Manifest.read(folder / "manifest.json").timings
    path = folder / "start.json"
    starts = SavedStarts.read(path).workloads if path.is_file() else ()
    return MeasuredImage(
        MeasuredSide(sizes.before_bytes),
        MeasuredSide(sizes.after_bytes),
        timings.trace_s + timings.locate_s + timings.rewrite_s,
        min(starts, key=attrgetter("saved_s"), default=None),
    )
