"""The chapter about secure task graphs, on runs whose times are known."""

import csv
import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiment_files import inputs

from trimtab.config.groups.protection.task_program import TaskProgram
from trimtab.errors import TrimtabError, UserError
from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.measurements import EvaluationInputs, Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.protection.applications import Macro
from trimtab.evaluation.protection.enclaves import Enclaves
from trimtab.evaluation.protection.overhead import ProtectionOverhead
from trimtab.evaluation.protection.policies import Policies
from trimtab.evaluation.protection.published_run_times import authors_rows
from trimtab.evaluation.protection.section import PROTECTION
from trimtab.evaluation.protection.workers import Workers
from trimtab.evaluation.report.section import find_sections
from trimtab.evaluation.report.tables import is_published
from trimtab.files import read_json
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import PROTECTED_RUNS

TABLES = {
    *("protection_enclaves", "protection_price", "protection_workers", "protection_policies"),
    *("protection_graph_size", "protection_input_size", "protection_macro"),
}
OF_VARIANT = {"original": 1.0, "ompss": 1.0, "sgx": 3.0, "sgxo": 3.0, "esgx": 5.0, "esgxo": 5.0}
FACTS = {
    "mm": TaskProgram("mm", "matmul", 1024, 64, label="Matrix multiplication", published="matmul"),
    "net": TaskProgram("net", "network", 8, 1, label="LeNet", macro=True),
}


def run(variant: str, workers: int = 1, repeat: int = 0, **values: Any) -> dict[str, Any]:
    """A run of the program `mm`: n workers take an n-th."""
    is_protected = variant not in ("original", "ompss")
    size = values.get("size", 1024)
    run_s = OF_VARIANT[variant] * (size / 1024) ** 3 / workers * (1 + 0.01 * repeat)
    row = {
        "task_program": "mm", "hardware": "it", "variant": variant,
        "enclave": "process" if is_protected else None, "costs": None,
        "protection": "seccomp" if is_protected else None, "workers": workers, "size": size,
        "block": 64, "schedule_policy": "openmp", "repeat": repeat, "complete": True, "error": "",
        "tasks": 4096, "enclave_calls": 4096 if is_protected else 0, "enclave_bytes": 0,
        "run_s": run_s, "energy_j": 10 * run_s, "energy_source": "measured",
        "source": "measured", "started": "2026-01-31T12:00:00Z",
    }  # fmt: skip
    return row | values


def simulated(variant: str, workers: int, policy: str, **values: Any) -> dict[str, Any]:
    enclave = None if variant == "ompss" else "sgx1"
    slower = {"breadth_first": 1.0, "work_first": 1.25}[policy]
    row = run(variant, workers, **values)
    return row | {
        "enclave": enclave, "costs": enclave, "schedule_policy": policy, "source": "modelled",
        "energy_source": "modelled", "protection": None, "run_s": slower * row["run_s"] / 2,
        "started": None,
    }  # fmt: skip


def every_run() -> list[dict[str, Any]]:
    rows = [
        run(variant, workers, repeat)
        for variant, workers, repeat in product(OF_VARIANT, (1, 2), range(3))
        if workers == 1 or variant.endswith(("o", "ompss"))
    ]
    rows += [run(variant, size=512) for variant in OF_VARIANT]
    rows += [run(variant, block=32, run_s=7.0) for variant in OF_VARIANT]
    rows += [
        simulated(variant, workers, policy)
        for variant, workers, policy in product(
            ("ompss", "sgxo", "esgxo"), (1, 4), ("breadth_first", "work_first")
        )
    ]
    failure = {"complete": False, "error": "no keys", "enclave": "pkeys", "run_s": None}
    rows.append(run("sgx", energy_j=None, tasks=None, enclave_calls=None, **failure))
    of_net = {"task_program": "net", "size": 8, "block": 1}
    rows += [run("sgx", run_s=4.0, energy_j=4.0, **of_net)]
    rows += [run("sgxo", 2, run_s=1.0, energy_j=2.0, **of_net)]
    return rows


def written(folder: Path, rows: Iterable[dict[str, Any]]) -> EvaluationInputs:
    path = folder / "runs.parquet"
    whole = dict.fromkeys(("tasks", "enclave_calls", "enclave_bytes"), "Int64")
    frame = pd.DataFrame(rows, columns=PROTECTED_RUNS.names).astype(whole)
    write_table(path, PROTECTED_RUNS, frame)
    return inputs([], [], protect=(path,), options={"task_program": FACTS})


@pytest.fixture(scope="module")
def measurements(tmp_path_factory: pytest.TempPathFactory) -> Measurements:
    return load(written(tmp_path_factory.mktemp("protected"), every_run()))


def ours(section: Any, **values: Any) -> list[dict[str, Any]]:
    rows = [dict(row) for row in section.rows if not is_published(row)]
    return [row for row in rows if all(row[key] == value for key, value in values.items())]


def test_the_price_is_that_over_the_original_of_the_same_kind(measurements: Measurements) -> None:
    section = ProtectionOverhead(measurements)
    (sgx,) = ours(section, variant="sgx", how="run here")
    assert (sgx["enclave"], sgx["workers"]) == ("process", 1)
    # Medians of 1.0, 1.01 and 1.02 times 3 and 1.
    assert sgx["run_s"] == pytest.approx(3.03) and sgx["overhead_pct"] == pytest.approx(200)
    assert sgx["energy_overhead_pct"] == pytest.approx(200) and sgx["change_pct"] is None
    (sgxo,) = ours(section, variant="sgxo", how="run here")
    assert sgxo["workers"] == 2  # the fastest
    assert sgxo["overhead_pct"] == pytest.approx(50) and sgxo["change_pct"] == pytest.approx(-50)
    (modelled,) = ours(section, variant="sgxo", how="simulated")
    # There is no simulated original: nothing is compared with what was run.
    assert modelled["overhead_pct"] is None and modelled["source"] == "modelled"
    assert not ours(section, name="LeNet")


def test_what_an_enclave_costs_stands_first(measurements: Measurements) -> None:
    [(place, figure)] = ProtectionOverhead(measurements).key_figures()
    assert "no hardware enclave" in place
    assert figure.label == "Price of an enclave (process): Matrix multiplication"
    assert figure.change.startswith("+200")
    parts = r"1\.010 → 3\.030 s on one worker; with parallel tasks, on 2, 1\.515 s"
    assert re.fullmatch(parts, figure.detail)


def test_workers_are_compared_with_one_of_the_same_kind(measurements: Measurements) -> None:
    section = Workers(measurements)
    (two,) = ours(section, variant="sgxo", workers=2)
    assert two["change_pct"] == pytest.approx(-50)
    (four,) = ours(section, variant="esgxo", workers=4)
    assert (four["how"], four["enclave"]) == ("simulated", "sgx1")
    assert four["change_pct"] == pytest.approx(-75)
    # The authors' medians, of matrix multiplication alone, as section 8.3.4 has them.
    theirs = [row for row in section.rows if is_published(row)]
    assert {row["name"] for row in theirs} == {"Matrix multiplication"}
    (published,) = [r for r in theirs if (r["variant"], r["workers"]) == ("sgxo", 4)]
    assert published["change_pct"] == pytest.approx(-67.5, abs=0.1)


def test_policies_are_compared_with_the_first(measurements: Measurements) -> None:
    section = Policies(measurements)
    assert section.first_policy == "breadth_first"
    for row in ours(section):
        expected = 0 if row["schedule_policy"] == "breadth_first" else 25
        assert row["change_pct"] == pytest.approx(expected)
    assert section.metrics()["protection"]["most_between_policies_pct"] == {
        "Matrix multiplication": pytest.approx(25)
    }


def test_whole_applications_stand_apart(measurements: Measurements) -> None:
    (sgxo,) = ours(Macro(measurements), variant="sgxo")
    assert sgxo["name"] == "LeNet"
    assert (sgxo["change_pct"], sgxo["energy_change_pct"]) == pytest.approx((-75, -50))


def test_what_failed_is_said_and_enters_no_figure(measurements: Measurements) -> None:
    section = Enclaves(measurements)
    remarks = dict(section.caveats())
    assert "1 runs failed" in remarks["pkeys"] and "no keys" in remarks["pkeys"]
    assert "modelled" in remarks[""]
    assert not ours(ProtectionOverhead(measurements), enclave="pkeys")
    caption = section.tables[0].caption
    assert "None of those that were run here is a hardware enclave" in caption


def test_the_authors_rows_are_their_medians() -> None:
    rows = authors_rows({"stream_barr": "Stream"}, "threads")
    assert len(rows) == 3 * 4 and {row["name"] for row in rows} == {"Stream"}
    of = {(row["variant"], row["workers"]): row["run_s"] for row in rows}
    assert of["sgxo", 8] / of["sgxo", 1] - 1 == pytest.approx(-0.77, abs=0.001)


def test_the_report_has_every_table_figure_and_published_reading(tmp_path: Path) -> None:
    given = written(tmp_path, every_run())
    page = evaluate(given, tmp_path / "out").read_text()
    found = {path.stem for path in (tmp_path / "out/tables").iterdir()}
    assert found == TABLES
    drawn = {path.stem for path in (tmp_path / "out/figures").iterdir()}
    assert drawn == TABLES - {"protection_enclaves"}
    figures = set(re.findall(r"Figure (8\.\d)", page))
    assert figures == {"8.2", "8.4", "8.5", "8.6", "8.7", "8.8"}
    stated: set[float] = set()
    for name in TABLES:
        with (tmp_path / f"out/tables/{name}.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                if row["source"] == "published" and "Section" in row["published_in"]:
                    keys = ("overhead_pct", "change_pct", "energy_change_pct")
                    stated |= {float(row[key]) for key in keys if row.get(key)}
    assert stated == {
        113, 854, -73, 845, 261, 117, 156, -64, -28, -43, -68, -36, -77, -41, -94, -92
    }  # fmt: skip
    told = read_json(tmp_path / "out/metrics.json")["protection"]
    assert (told["failed"], told["simulations"]) == (1, 12)


def test_only_these_sections_are_of_the_chapter() -> None:
    own = [kind.__name__ for kind in find_sections() if kind.chapter == PROTECTION]
    assert own == ["Enclaves", "ProtectionOverhead", "Workers", "Policies", "GraphSizes", "Macro"]


def test_a_report_of_runs_that_all_failed_says_why(tmp_path: Path) -> None:
    """As with protection keys alone on a processor without them, and no costs to simulate."""
    failure = {"complete": False, "error": "no keys here", "enclave": "pkeys", "run_s": None}
    unknown = {"energy_j": None, "tasks": None, "enclave_calls": None, "protection": None}
    rows = [run(variant, **failure, **unknown) for variant in ("sgx", "sgxo")]
    page = evaluate(written(tmp_path, rows), tmp_path / "out").read_text()
    assert "no keys here" in page


def test_energy_that_is_not_known_is_no_number(tmp_path: Path) -> None:
    rows = [run(variant, energy_j=None, energy_source="unknown") for variant in ("original", "sgx")]
    section = ProtectionOverhead(load(written(tmp_path, rows)))
    for row in ours(section):
        assert row["energy_j"] is None and row["energy_overhead_pct"] is None
        assert row["overhead_pct"] is not None and not np.isnan(row["overhead_pct"])
    (figure,) = section.figures
    assert "Energy" not in figure.svg


def test_runs_that_are_given_twice_or_are_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"run of mm / it / sgx / process .* given twice"):
        load(written(tmp_path, [run("sgx"), run("sgx")]))
    with pytest.raises(TrimtabError, match="no rows"):
        load(written(tmp_path, []))
