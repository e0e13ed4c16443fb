"""When the jobs of a trace arrive."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    CountOrNone,
    InvalidValueError,
    MistakeError,
    NotNegative,
    Number,
    Parts,
    about,
)

ArrivalKind = StrEnum("ArrivalKind", "POISSON BURSTS MARKOVIAN MODULATED FILE")
# Of a recorded trace: the project's own, or a module of `trimtab.traces.formats`.
TraceFormat = StrEnum(
    "TraceFormat",
    "PARQUET SWF GOOGLE_2011 GOOGLE_2019 ALIBABA_2018 ALIBABA_GPU_2020 ALIBABA_GPU_2023 "
    "AZURE_FUNCTIONS_2019 AZURE_FUNCTIONS_2021 AZURE_LLM PHILLY_TABLE PHILLY_LOG",
)
Matrix = list[list[Number]]
_MOST_PHASES = 100  # of a Markovian arrival process
_TOLERANCE = 1e-9  # of a row's sum, relative to its largest rate


@dataclass(config=CHECKED)
class ArrivalsConfig:
    """When jobs arrive."""

    kind: ArrivalKind = about(
        "`markovian` is a marked Markovian arrival process, `modulated` Poisson arrivals at rates "
        "that a Markov chain switches (MMPP), `file` a recorded trace.",
        default=ArrivalKind.POISSON,
    )
    jobs: CountOrNone = about("Number of jobs; 0 with `file`: all.", default=0)
    load: NotNegative = about(
        "Share of the cluster's time that undropped jobs ask for: of its cores, GPUs or memory, "
        "whichever is the scarcest. `poisson`: or `rate_per_s`; "
        "`markovian` and `modulated` get faster or slower as a whole; 0: their own rates.",
        default=0.0,
    )
    rate_per_s: NotNegative = about("`poisson`: rate of all classes.", default=0.0, unit="1/s")
    bursts: Parts = about("`bursts`: their number.", default=0)
    horizon_s: NotNegative = about(
        "`bursts`: the time over which they are spread.", default=0.0, unit="s"
    )
    transitions: Matrix = about("`markovian`: matrix D0, by row.", factory=list, unit="1/s")
    marked: dict[str, Matrix] = about(
        "`markovian`: matrix D of each class, by row.", factory=dict, unit="1/s"
    )
    switching: Matrix = about(
        "`modulated`: generator of the Markov chain, by row.", factory=list, unit="1/s"
    )
    phase_rates: dict[str, list[Number]] = about(
        "`modulated`: arrival rates of each class, by phase.", factory=dict, unit="1/s"
    )
    format: TraceFormat | None = about("`file`: its format.", default=None)
    files: dict[str, list[str]] = about(
        "`file`: files of each table of the format's module, relative to the project.",
        factory=dict,
    )
    options: dict[str, Any] = about(
        "`file`: options of the format's module, as a machine's size.", factory=dict
    )


def check_markovian(given: ArrivalsConfig, classes: Collection[str]) -> None:
    """Raise InvalidValueError for matrices of no marked Markovian arrival process of `classes`."""
    _check_classes("arrivals.marked", given.marked, classes, "one matrix")
    _check_generator("arrivals.transitions", given.transitions, given.marked)
    for name, matrix in given.marked.items():
        if not any(rate for row in matrix for rate in row):
            raise InvalidValueError(f"arrivals.marked.{name}", matrix, "a rate above 0: it arrives")


def check_modulated(given: ArrivalsConfig, classes: Collection[str]) -> None:
    """Raise InvalidValueError for what is no chain, or no arrival rates of `classes`."""
    _check_classes("arrivals.phase_rates", given.phase_rates, classes, "rates")
    _check_generator("arrivals.switching", given.switching, {})
    phases = len(given.switching)
    for name, rates in given.phase_rates.items():
        if len(rates) != phases or min(rates) < 0 or not any(rates):
            expected = f"{phases} rates, one a phase, of at least 0, and one above 0"
            raise InvalidValueError(f"arrivals.phase_rates.{name}", rates, expected)


def _check_classes(
    key: str, given: Collection[str], classes: Collection[str], expected: str
) -> None:
    if set(given) != set(classes):
        expected = f"{expected} for each class, {', '.join(classes)}"
        raise InvalidValueError(key, sorted(given), expected)


def _check_generator(key: str, own: Matrix, marked: Mapping[str, Matrix]) -> None:
    """Check `own` and `marked`, which add up to the generator of an irreducible chain."""
    if not 0 < len(own) <= _MOST_PHASES:
        expected = f"1 to {_MOST_PHASES} rows, one a phase"
        raise InvalidValueError(key, f"{len(own)} rows", expected)
    phases = range(len(own))
    matrices = {key: own} | {f"arrivals.marked.{name}": each for name, each in marked.items()}
    for name, matrix in matrices.items():
        if [len(row) for row in matrix] != [len(own)] * len(own):
            sizes = ", ".join(str(len(row)) for row in matrix)
            expected = f"{len(own)} rows of as many rates"
            raise InvalidValueError(name, f"{len(matrix)} rows of {sizes} rates", expected)
        for row in phases:
            for column in phases:
                if matrix[row][column] < 0 and (matrix is not own or row != column):
                    expected = "a rate of at least 0"
                    raise InvalidValueError(
                        f"{name}[{row}][{column}]", matrix[row][column], expected
                    )
    jumps = [[sum(each[row][to] for each in matrices.values()) for to in phases] for row in phases]
    for row in phases:
        total = sum(jumps[row]) - own[row][row]
        if abs(own[row][row] + total) > _TOLERANCE * total:
            expected = f"{-total:g}, minus the sum of the row's other rates, those of arrivals too"
            raise InvalidValueError(f"{key}[{row}][{row}]", own[row][row], expected)
    for start in phases:
        left = set(phases) - _reached(start, jumps)
        if left:
            problem = f"phase {start} never leads to phase {min(left)}"
            raise MistakeError(key, f"{problem}, expected phases that all reach each other")


def _reached(start: int, jumps: Matrix) -> set[int]:
    reached, pending = {start}, [start]
    while pending:
        row = jumps[pending.pop()]
        new = {to for to, rate in enumerate(row) if rate > 0} - reached
        reached |= new
        pending += new
    return reached
