"""The whole evaluation: every file, the same numbers everywhere, nothing hostile gets through."""

import csv
import json
import re
import xml.etree.ElementTree as ET
import zlib
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path

import experiment_files as files
import pytest

from trimtab.errors import UserError, escape_control_characters
from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.measurements import WorkloadFacts
from trimtab.records.verdict import Crash, VerifiedWorkload

TABLES = (
    *("verification", "sizes", "libraries_total", "core_library", "sizes_by_loading_mode"),
    *("run_cost_by_loading_mode", "sizes_of_large_models", "run_cost", "epochs"),
    *("debloating_time", "tracing", "libraries"),
    *("similarity_of_targets", "similarity_of_targets_published"),
    *("similarity_of_tensorflow_targets", "similarity_of_tensorflow_targets_published"),
)
FIGURES = (
    *("sizes", "run_times", "reduction_of_code_size", "reduction_of_count"),
    "savings_by_library",
)
PAPER = "The Hidden Bloat in Machine Learning Systems"
GPU_FIGURES = ("cpu_and_gpu_code", "reasons_of_removal")


class Page(HTMLParser):
    """The exact values of each table's cells by key, the texts, and everything that could load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: dict[str, list[tuple[str, str]]] = {}
        self.references: list[str] = []
        self.scripts = 0
        self.text = ""
        self._table = ""
        self._skip = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._table = found.get("data-table") or self._table
        if tag == "td" and found.get("data-key"):
            cell = (found["data-key"] or "", found["data-order"] or "")
            self.cells.setdefault(self._table, []).append(cell)
        self.references += [
            found[key] or "" for key in ("src", "href", "action", "data") if key in found
        ]
        self.scripts += tag == "script"
        self._skip = tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.text += data


@pytest.fixture(scope="module")
def destination(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiment")
    report = evaluate(files.write_experiment(folder), folder / "out")
    assert report == folder / "out" / "report.html"
    return folder / "out"


@pytest.fixture(scope="module")
def gpu_destination(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu_experiment")
    return evaluate(files.write_gpu_experiment(folder), folder / "out").parent


@pytest.fixture(scope="module")
def page(destination: Path) -> Page:
    return Page((destination / "report.html").read_text())


@pytest.mark.parametrize(
    ("folder", "figures"),
    [("destination", FIGURES), ("gpu_destination", (*FIGURES, *GPU_FIGURES))],
)
def test_exactly_the_promised_files_are_written(
    folder: str, figures: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    destination: Path = request.getfixturevalue(folder)
    written = {str(p.relative_to(destination)) for p in destination.rglob("*") if p.is_file()}
    assert written == {
        "report.html",
        "metrics.json",
        "outcome.json",
        *(f"tables/{name}.csv" for name in TABLES),
        *(f"figures/{name}.svg" for name in figures),
    }
    for name in figures:
        ET.parse(destination / "figures" / f"{name}.svg")
    json.loads((destination / "metrics.json").read_text())


def values_of(destination: Path, page: Page, name: str) -> int:
    """Check that the page shows the values of the CSV, and return how many rows there are."""
    with (destination / "tables" / f"{name}.csv").open(newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    cells = page.cells.get(name, [])
    keys = list(dict.fromkeys(key for key, _ in cells))
    assert [value for _, value in cells] == [row[key] for row in rows for key in keys]
    assert set(keys) <= set(reader.fieldnames or ())
    return len(rows)


@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_the_values_of_the_csv(destination: Path, page: Page, name: str) -> None:
    rows = values_of(destination, page, name)
    # One target alone has nothing to be compared with.
    assert (rows > 0) is (name not in ("similarity_of_targets", "similarity_of_tensorflow_targets"))


@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_the_values_of_gpu_code(gpu_destination: Path, name: str) -> None:
    page = Page((gpu_destination / "report.html").read_text())
    assert (values_of(gpu_destination, page, name) > 0) is (
        name != "similarity_of_tensorflow_targets"
    )


def test_what_needs_a_gpu_is_left_out_with_a_line_that_says_so(page: Page) -> None:
    for words in (
        f"Figure 1 of {PAPER} (CPU and GPU code in the largest libraries) and Figure 7 of",
        f"lazy loading: not measured here; the published valuesTable 6 of {PAPER}",
        "no workload with GPU code sets CUDA_MODULE_LOADING",
        "no target of the experiment uses TensorFlow",
        "it takes two targets of the experiment to compare",
    ):
        assert words in page.text
    assert "Bytes of GPU code" not in page.text
    (mobilenet, *_) = (
        value for key, value in page.cells["libraries_total"] if key == "gpu_code_mb"
    )
    assert mobilenet == ""


def test_the_page_says_what_became_of_gpu_code(gpu_destination: Path) -> None:
    text = Page((gpu_destination / "report.html").read_text()).text
    for words in (
        "GPUs NVIDIA H200 (sm_90): 5 shared libraries",
        "every kernel recorded",
        "Elements of GPU code",
        "100 → 4",
        "Peak GPU memory",
        "of 2,000 MB",
        f"Why elements of GPU code were removedas in Figure 7 of {PAPER}",
        "lenet5_train: no GPU code in this environment.",
    ):
        assert words in text
    assert "have nothing to show" not in text


def test_the_page_refers_to_nothing_outside_itself(page: Page) -> None:
    assert page.references
    assert all(reference.startswith("#") for reference in page.references)
    assert page.scripts == 4


def unpacked(page: str, name: str) -> str:
    """What the page carries under this name."""
    (found,) = re.findall(rf'<script type="text/plain" id="{name}">(.*?)</script>', page, re.DOTALL)
    return zlib.decompress(b64decode(found), wbits=-zlib.MAX_WBITS).decode()


def test_the_charting_library_and_what_it_draws_are_packed(destination: Path) -> None:
    page = (destination / "report.html").read_text()
    assert unpacked(page, "vega").count("window.vegaEmbed=") == 1
    assert set(json.loads(unpacked(page, "specifications"))) == set(FIGURES)
    assert len(page) < 700_000


def test_the_page_says_what_was_done_in_words(page: Page) -> None:
    for words in (
        "Output equal",
        "2 cores, 8 GB",
        "2026-01-31",
        "data set: 5,000 images of MNIST",
        "4 shared libraries, 3 debloated, mode compact, symbols strip; 6 interleaved runs",
        "energy is modelled, not measured",
        "3 interleaved pairs of lenet5_train",
        "Published: The Hidden Bloat in Machine Learning Systems, Table 5; 16 CPUs",
        "16.00 → 6.00 MB",
        "of 12.00 s; pairs \N{MINUS SIGN}50.0\N{NO-BREAK SPACE}% to",
    ):
        assert words in page.text


def test_a_failed_verification_stands_at_the_top(tmp_path: Path) -> None:
    profile = files.write_profile(tmp_path / "p")
    failed = files.FAILED | {
        "verified": [VerifiedWorkload("lenet5_train", 3, False, 2, "digest_file")],
        "crash": Crash("SIGSEGV", "lib/libbig.so", 4096, "at::add"),
    }
    debloat = files.write_debloat(tmp_path / "d", runs=[], resident_bytes={}, **failed)
    report = evaluate(files.inputs([profile], [debloat]), tmp_path / "out")
    text = Page(report.read_text()).text
    assert text.index("Verification failed") < text.index("Debloating")
    assert "lenet5_train (lenet5_train): 2 of 3 outputs were equal" in text
    assert "lenet5_train did not pass: another output, line 3 (SIGSEGV in lib/libbig.so" in text
    assert "Output equal" not in text
    assert json.loads((tmp_path / "out/metrics.json").read_text())["verified"] == 0


HOSTILE = "<script>alert('x')</script>&\"</td><!--\x1b[31m\u202e"


def test_names_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    profile = files.write_profile(tmp_path / "p", "w")
    libraries = [files.library(HOSTILE + "1"), files.library("b", (9, 9), reason=HOSTILE)]
    debloat = files.write_debloat(tmp_path / "d", "t", ("w",), libraries)
    inputs = files.inputs(
        [profile],
        [debloat],
        experiment=HOSTILE,
        machine=HOSTILE,
        workloads={"w": WorkloadFacts(HOSTILE)},
    )
    out = tmp_path / "out"
    text = evaluate(inputs, out).read_text()
    page = Page(text)
    assert page.scripts == 4
    assert "<script>alert" not in text
    assert not {"\x1b", "\u202e"} & set(text + (out / "tables/libraries.csv").read_text())
    assert f"data set: {escape_control_characters(HOSTILE)}" in page.text
    assert ("library", escape_control_characters(HOSTILE) + "1") in page.cells["libraries"]
    for name in FIGURES:
        ET.parse(out / "figures" / f"{name}.svg")


def test_nothing_is_written_when_an_input_is_missing(tmp_path: Path) -> None:
    inputs = files.write_experiment(tmp_path)
    (tmp_path / "debloat/verify.json").unlink()
    with pytest.raises(UserError):
        evaluate(inputs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
