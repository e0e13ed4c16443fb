"""The documents of the schedule stage: written and read again; damaged or older ones refused."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trimtab.errors import TrimtabError
from trimtab.records.deflator_search import DeflatorCandidate, DeflatorSearch, SimulatedResponse
from trimtab.records.document import Document
from trimtab.records.figures import ClassFigures, PredictionErrors, ResponseFigures, TotalFigures
from trimtab.records.measured_rounds import MeasuredRounds, RoundTimes
from trimtab.records.summary import (
    CellFigures,
    FormulaResponse,
    JobErrors,
    MeanBounds,
    Protection,
    RealRun,
    Simulator,
    Summary,
)
from trimtab.records.trace_facts import (
    ArrivalCounts,
    ClassFacts,
    MeasuredWorkload,
    ServiceSource,
    TraceFacts,
)

RESPONSE: dict[str, float] = {
    "response_mean_s": 14.268933120605535,
    "response_p50_s": 12.0,
    "response_p95_s": 28.634375,
    "response_p99_s": 37.13125,
    "waiting_mean_s": 1e-300,
    "execution_mean_s": 8.806522633167374,
    "waste_share": 0.1 + 0.2,
}
JOBS: dict[str, Any] = {
    **RESPONSE,
    "jobs": 4008.8,
    "set_up_mean_s": None,
    "sprint_s": 0.0,
    "energy_j": 3177456.1126958043,
    "evictions": 0,
    "migrations": 2.0,
    "dropped_tasks": 7,
    "response_mean_s_half_width_99": 0.34471817635942986,
}
TOTAL = {
    "makespan_s": 923517.791187581,
    "utilisation": 0.62,
    "gpu_utilisation": 1.0,
    "gpu_fragmentation": None,
    "idle_energy_j": 83116601.2068823,
    "active_energy_j": 0.0,
    "unfinished": 0,
}
BY_CLASS = {"high": 0.0, "low": 65.13479213113705}
SHARES = {"high": 0.0, "low": 0.25}
SKIPPED = "no service time"
CLASS = ClassFigures(priority=1, **JOBS)
CELL = CellFigures({"low": CLASS}, TotalFigures(**JOBS, **TOTAL))
ROUNDS = RoundTimes(1.0, 5.2, 0.7, 1.7, "deterministic", 0.4)
WORKLOAD = MeasuredWorkload(
    "w", "small", "original", (3.0, 5.1), 1.5, 900, 1024, None, "unknown", ("work_s",)
)
PREDICTED = PredictionErrors(
    job_class="low",
    node_type="small",
    jobs=2,
    run_time_s=3.5,
    energy_j=70.1,
    power_w=20.2,
    run_time_error_pct=0.0,
    energy_error_pct=14.7,
    power_error_pct=1.3,
)
DOCUMENTS: tuple[Document, ...] = (
    Summary(
        cluster="engine",
        trace="drawn",
        policy="da_0_20",
        policy_label="DA(0,20)",
        baseline=False,
        simulator=Simulator.KERNEL,
        seed=1,
        offered_load=None,
        load=1.08,
        unstable_because="the load is 1.08",
        classes={"low": CLASS},
        all=TotalFigures(**JOBS, **TOTAL),
        energy_source="modelled",
        service_source=ServiceSource.DRAWN,
        protection=Protection(["low"], {"low": "sgx1"}, CELL, CELL, CELL),
        predictions=[PREDICTED],
    ),
    TraceFacts(
        trace="drawn",
        cluster="engine",
        jobs=3,
        classes={"low": ClassFacts(3, 0.1, None, [(0.0, 0.0), (0.2, 15.0)], WORKLOAD)},
        arrivals=ArrivalCounts(0.5, {"low": [1, 0, 2]}),
        skipped={SKIPPED: 1},
        original={"low": WORKLOAD},
        rounds={"low": ROUNDS},
        service_source=ServiceSource.MEASURED_ROUNDS,
    ),
    FormulaResponse(
        model="phase-type",
        classes={"low": ResponseFigures(**RESPONSE)},
        bounds={"low": MeanBounds(1.5, 2.25)},
    ),
    RealRun(
        platform="Spark local[2]",
        scale=1.0,
        machine="2 CPUs",
        load_average_before=0.25,
        sprint="none",
        energy_source="unknown",
        per_job=JobErrors(3, 12.5, None),
        classes={"low": CLASS},
    ),
    DeflatorSearch(
        objective="least",
        cluster="engine",
        trace="drawn",
        classes=["high", "low"],
        rows=[
            DeflatorCandidate(
                drop_ratio=SHARES,
                timeout_s={"high": 65.0, "low": None},
                accuracy_loss_pct=BY_CLASS,
                response_mean_s=BY_CLASS,
                response_p95_s=BY_CLASS,
                energy_j_per_job=3742.9795382218676,
                sprint_share=0.0,
                feasible=True,
            )
        ],
        confirmed=SimulatedResponse(BY_CLASS, BY_CLASS),
    ),
    MeasuredRounds(classes={"low": ROUNDS}, load_average_before=0.25),
)
# What may be left out: it is then what it says of a single run.
OPTIONAL = ("_half_width_99", "drop_ratio", "accuracy_loss_pct", "replications", "pareto", "chosen",
            "model", "classes", "bounds", "predictions", "not_possible_because")  # fmt: skip
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: type(one).__name__)


def places(value: Any, *keys: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the keys that lead to each value of a document, lists by their first."""
    if keys:
        yield keys
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1])
    for key, part in inner:
        if isinstance(part, dict | list):
            yield from places(part, *keys, key)
        else:
            yield *keys, key


def changed(document: Document, keys: tuple[Any, ...], *value: Any) -> str:
    """Return a document's text with one value replaced, or removed where there is none."""
    whole = copy.deepcopy(document.to_json())
    part = whole
    for key in keys[:-1]:
        part = part[key]
    if value:
        part[keys[-1]] = value[0]
    else:
        del part[keys[-1]]
    return json.dumps(whole)


@each_document
def test_it_is_what_was_written_to_the_last_digit_and_type(
    tmp_path: Path, document: Document
) -> None:
    path = tmp_path / "document.json"
    document.write(path)
    again = type(document).read(path)
    assert again == document
    assert again.to_text() == document.to_text() == path.read_text()


@each_document
def test_no_value_of_another_kind_is_read(tmp_path: Path, document: Document) -> None:
    path = tmp_path / "document.json"
    for keys in places(document.to_json()):
        for value in ({"a": [None]}, float("nan")):
            path.write_text(changed(document, keys, value))
            with pytest.raises(TrimtabError, match=r"document\.json: .*the stage `schedule`") as no:
                type(document).read(path)
            assert str(keys[0]) in str(no.value) and "\n" not in str(no.value)


@each_document
def test_no_key_may_be_missing_or_unknown(tmp_path: Path, document: Document) -> None:
    path = tmp_path / "document.json"
    for *where, key in places(document.to_json()):
        if key in (0, *BY_CLASS, SKIPPED):
            continue  # a list or a mapping may be shorter or longer
        path.write_text(changed(document, (*where, f"{key}_too"), 1))
        with pytest.raises(TrimtabError, match=rf"document\.json: .*{key}_too"):
            type(document).read(path)
        if not key.endswith(OPTIONAL):
            path.write_text(changed(document, (*where, key)))
            with pytest.raises(TrimtabError, match=rf"document\.json: .*{key}"):
                type(document).read(path)


def test_a_formula_that_gives_nothing_has_to_say_why(tmp_path: Path) -> None:
    path = tmp_path / "formula.json"
    FormulaResponse(not_possible_because="a budget").write(path)
    assert FormulaResponse.read(path).not_possible_because == "a budget"
    path.write_text(path.read_text().replace("a budget", ""))
    with pytest.raises(TrimtabError, match=r"formula\.json: no class, and not_possible_because"):
        FormulaResponse.read(path)


@pytest.mark.parametrize("key", ["drop_ratio", "timeout_s", "response_mean_s", "accuracy_loss_pct"])
def test_a_candidate_that_lacks_a_class_is_refused(tmp_path: Path, key: str) -> None:
    (search,) = (document for document in DOCUMENTS if isinstance(document, DeflatorSearch))
    path = tmp_path / "search.json"
    path.write_text(changed(search, ("rows", 0, key, "low")))
    with pytest.raises(TrimtabError, match=rf"rows.0.\.{key}: expected high and low"):
        DeflatorSearch.read(path)
