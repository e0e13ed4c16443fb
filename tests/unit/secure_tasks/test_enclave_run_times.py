"""The table of published run times: whole as shipped, and refused with its place when not."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sgx_ompss.applications import APPLICATIONS
from sgx_ompss.measured import PUBLISHED, RUNS, VARIANTS, read_measured

from trimtab.errors import TrimtabError


def test_the_shipped_table_has_every_run() -> None:
    table = read_measured()
    assert len(table) * len(RUNS) == 1800
    counts = table.groupby(["application", "variant"]).size()
    assert set(counts) == {12} and len(counts) == len(APPLICATIONS) * len(VARIANTS)
    columns = ["application", "variant", "swept", "size", "block", "workers", "policy"]
    assert not table.duplicated(columns).any()


def changed(path: Path, column: str, value: str) -> Path:
    lines = [line for line in PUBLISHED.read_text().splitlines() if not line.startswith("#")]
    names = lines[0].split(",")
    cells = lines[2].split(",")
    cells[names.index(column)] = value
    lines[2] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("application", "lu", "one of cholesky, dot_product"),
        ("variant", "sgx", "one of ompss, sgxo, esgxo"),
        ("swept", "", "one of size, block"),
        ("policy", "BF", "one of bf, wf"),
        ("size", "0", "a whole number from 1"),
        ("size", "1e99", "a whole number from 1"),
        ("block", "2.5", "a whole number from 1"),
        ("block", "3", "a divisor of the size"),
        ("workers", "-1", "a whole number from 1"),
        ("workers", "many", "a whole number from 1"),
        ("run_1_s", "0", "seconds above 0"),
        ("run_1_s", "-1", "seconds above 0"),
        ("run_7_s", "nan", "seconds above 0"),
        ("run_7_s", "inf", "seconds above 0"),
        ("run_10_s", "", "seconds above 0"),
        ("run_10_s", "1 s", "seconds above 0"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path: Path, column: str, value: str, expected: str) -> None:
    path = changed(tmp_path / "times.csv", column, value)
    with pytest.raises(TrimtabError) as caught:
        read_measured(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: data line 2: {column}: {value!r} given") and expected in said


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda text: text.replace("run_3_s", "run_3"), "'run_3'"),
        (lambda text: text.replace("policy", "order"), "'policy'"),
        (lambda text: "", "not a table"),
        (lambda text: text.splitlines()[0] + "\n", "no line of data"),
        (lambda text: text + "a,b,c" + ",1" * 30 + "\n", "not a table"),
    ],
)
def test_what_is_no_such_table(tmp_path: Path, change: Callable[[str], str], expected: str) -> None:
    lines = [line for line in PUBLISHED.read_text().splitlines() if not line.startswith("#")]
    path = tmp_path / "times.csv"
    path.write_text(change("\n".join(lines) + "\n"))
    with pytest.raises(TrimtabError, match=expected) as caught:
        read_measured(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrimtabError, match=r"nowhere\.csv: not a table"):
        read_measured(tmp_path / "nowhere.csv")
