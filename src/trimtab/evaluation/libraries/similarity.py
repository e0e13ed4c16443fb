"""The similarity of the code that each pair of targets used."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.libraries.core_library import core_library, is_tensorflow
from trimtab.evaluation.report.published import published, titled
from trimtab.evaluation.report.section import IN_COMMON, TargetSection
from trimtab.evaluation.report.tables import (
    MEASURED,
    PUBLISHED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    Value,
)
from trimtab.records.used import UsedCode, jaccard

_HOW = (
    "Jaccard similarity of the code that each pair used of the framework's core library: "
    "functions in the upper right, kernels in the lower left. 1: the same; 0: nothing in common."
)
_PAIRS = "Not measured: it takes two targets of the experiment to compare."


@dataclass(frozen=True)
class _Core:
    """The core library of a target; equal `build` means equal addresses."""

    label: str
    hardware: str
    library: str
    build: str
    used: UsedCode | None


class Similarity(TargetSection):
    """The similarity of each pair of targets; TensorFlow's are compared separately."""

    order = 300
    chapter = IN_COMMON

    def make_tables(self) -> Iterator[Table]:
        """Two matrices of targets, each with the paper's."""
        tensorflow = [target for target in self.measurements.targets if is_tensorflow(target)]
        yield _similarities(
            "similarity_of_targets",
            "What the targets have in common",
            f"{_HOW} A dash: no such code was used, or the libraries are different builds, so "
            "addresses do not compare.",
            [target for target in self.measurements.targets if not is_tensorflow(target)],
        )
        yield _similarities(
            "similarity_of_tensorflow_targets",
            "What the TensorFlow targets have in common",
            _HOW,
            tensorflow,
            _PAIRS if tensorflow else "Not measured: no target of the experiment uses TensorFlow.",
        )


def _similarities(
    name: str, title: str, caption: str, targets: Sequence[DebloatedTarget], missing: str = _PAIRS
) -> Table:
    with_core = [target for target in targets if not target.libraries.empty]
    cores = [_core(target) for target in with_core] if len(with_core) > 1 else []
    places = range(len(cores))
    cells = [[_similarity(cores, row, column) for column in places] for row in places]
    facts: list[Row] = [
        {"library": core.library, "hardware": core.hardware, "source": MEASURED} for core in cores
    ]
    labels = [core.label for core in cores]
    table = _matrix(name, titled(title, name), caption, "Target", labels, cells, facts)
    return replace(table, missing=missing, apart=_published(name))


def _published(name: str) -> Table:
    """Return the published matrix, which has each pair once."""
    pairs = published(name)
    names = list(
        dict.fromkeys(str(pair.values[key]) for key in ("first", "second") for pair in pairs)
    )
    similar: dict[tuple[str, str], Value] = {}
    for pair in pairs:
        first, second = str(pair.values["first"]), str(pair.values["second"])
        similar[first, second] = pair.number("functions_jaccard")
        similar[second, first] = pair.number("kernels_jaccard")
    facts: Row = {
        "library": pairs[0].values["library"],
        "hardware": pairs[0].hardware,
        "source": PUBLISHED,
        "published_in": f"{pairs[0].paper}, {pairs[0].place}",
    }
    return _matrix(
        f"{name}_published",
        f"Published: {pairs[0].place}",
        "The same for the workloads of the paper.",
        "Workload",
        names,
        [[similar.get((row, column)) for column in names] for row in names],
        [facts] * len(names),
    )


def _core(target: DebloatedTarget) -> _Core:
    row = core_library(target).iloc[0]
    library = str(row["library"])
    return _Core(
        label=target.label,
        hardware=target.hardware,
        library=PurePosixPath(library).name,
        build=f"{row['build_id'] or ''} {row['size_before_bytes']}",
        used=target.used.get(library),
    )


def _similarity(cores: Sequence[_Core], row: int, column: int) -> float | None:
    one, other = cores[row], cores[column]
    same = (one.library, one.build) == (other.library, other.build)
    if row == column or not same or one.used is None or other.used is None:
        return None
    if row < column:
        return jaccard(one.used.functions, other.used.functions)
    return jaccard(one.used.kernels, other.used.kernels)


def _matrix(
    name: str,
    title: str,
    caption: str,
    what: str,
    names: Sequence[str],
    cells: Sequence[Sequence[Value]],
    facts: Sequence[Row],
) -> Table:
    columns = [Column(f"with {other}", other, 2) for other in names]
    rows: list[Row] = []
    for label, values, fact in zip(names, cells, facts, strict=True):
        similar = {column.key: value for column, value in zip(columns, values, strict=True)}
        rows.append({"name": label, **similar, **fact})
    return Table(
        name,
        title,
        caption,
        (
            Column("name", what),
            Column("hardware", "Hardware", in_report=False),
            Column("library", "Core library"),
            *columns,
            *SOURCE_COLUMNS,
        ),
        tuple(rows),
        missing="",
    )
