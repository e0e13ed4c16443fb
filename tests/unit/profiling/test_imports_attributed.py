"""Times and use of imported modules, and whose names are read, from records made by hand."""

import re
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.profiling.imports.attribution import imports_of
from trimtab.profiling.imports.reading import ImportEvent, ProcessRecord
from trimtab.profiling.imports.tables import document_of, modules_table, names_table
from trimtab.profiling.imports.taken_names import Source, TakenName, taken_names
from trimtab.records.imports.imports import Imports
from trimtab.records.imports.tables import IMPORTED_MODULES, IMPORTED_NAMES
from trimtab.records.parquet.files import read_table, write_table

# An import: its own milliseconds and pages, and the imports within it.
Tree = tuple[int, int, list["Tree"]]
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.tuples(st.integers(0, 50), st.integers(-9, 9), st.just([])),
    lambda below: st.tuples(st.integers(0, 50), st.integers(-9, 9), st.lists(below, max_size=3)),
    max_leaves=12,
)


def events_of(trees: list[Tree]) -> tuple[list[ImportEvent], list[tuple[str, int, int]]]:
    """The events as a process writes them, and the own time and memory of each."""
    events: list[ImportEvent] = []
    own: list[tuple[str, int, int]] = []
    numbers = count(1)

    def add(tree: Tree, above: int) -> tuple[int, int]:
        number = next(numbers)
        own_ms, own_pages, within = tree
        below = [add(each, number) for each in within]
        total_ms = own_ms + sum(ms for ms, _ in below)
        pages = own_pages + sum(each for _, each in below)
        events.append(
            ImportEvent(number, above, f"m{number}", "", "python", "", total_ms / 1e3, pages)
        )
        own.append((f"m{number}", own_ms, own_pages))
        return total_ms, pages

    for tree in trees:
        add(tree, -1)
    return events, own


def process(name: str = "1-1", forked_from: str = "", has_end: bool = True) -> ProcessRecord:
    return ProcessRecord(name, forked_from, "3.11.7", "counters", ("python",), "", has_end)


@given(st.lists(TREES, max_size=3))
def test_each_module_has_its_own_part(trees: list[Tree]) -> None:
    record = process()
    record.imports, own = events_of(trees)
    modules = {module.name: module for module in imports_of([record]).modules}
    assert modules.keys() == {name for name, _, _ in own}
    for name, own_ms, own_pages in own:
        assert modules[name].own_s == pytest.approx(own_ms / 1e3, abs=1e-9)
        assert modules[name].own_bytes == own_pages


def python_module(name: str, time_s: float, kind: str = "python") -> ImportEvent:
    return ImportEvent(1, -1, name, "__main__", kind, f"/{name}.py", time_s, 0)


def test_each_family_of_processes_judges_for_itself() -> None:
    """A fork may use what its parent imported; a process that was executed is alone."""
    parent, child, other = process(), process("2-2", "1-1"), process("3-3")
    parent.imports = [python_module("a", 1.0)]
    other.imports = [python_module("a", 4.0)]
    child.functions, child.names = {"/a.py": 2}, {"/a.py": frozenset()}
    [module] = imports_of([parent, child, other]).modules
    assert (module.use, module.imports, module.functions_ran) == ("ran", 2, 2)
    assert (module.own_s, module.unused_s) == (5.0, 4.0)


def test_generated_code_counts_for_the_module_that_made_it() -> None:
    record = process()
    record.imports = [python_module("a", 1.0)]
    record.functions, record.names = {"module a": 1}, {"module a": frozenset()}
    assert imports_of([record]).modules[0].use == "ran"


def test_native_code_may_have_run() -> None:
    record = process()
    record.imports = [python_module("a", 1.0, "native")]
    [module] = imports_of([record]).modules
    assert (module.use, module.unused_s) == ("unknown", 0.0)


@settings(max_examples=25)
@given(st.lists(TREES, max_size=3), st.text(max_size=20))
def test_tables_and_document_can_be_read_again(
    tmp_path_factory: pytest.TempPathFactory, trees: list[Tree], name: str
) -> None:
    record = process()
    record.imports, _ = events_of(trees)
    record.imports.append(python_module(name, 1.0))
    run = imports_of([record])
    folder = tmp_path_factory.mktemp("tables")
    write_table(folder / "modules.parquet", IMPORTED_MODULES, modules_table(run))
    write_table(folder / "names.parquet", IMPORTED_NAMES, names_table(run))
    document = document_of(run, ["python"], 0)
    document.write(folder / "imports.json")
    table = read_table(folder / "modules.parquet", IMPORTED_MODULES)
    assert len(table) == document.modules and table["own_s"].is_monotonic_decreasing
    read_table(folder / "names.parquet", IMPORTED_NAMES)
    again = Imports.read(folder / "imports.json")
    assert again == document
    assert sum(package.own_s for package in again.packages) == pytest.approx(again.imports_s)


def taken(text: str, read: str, modules: str = "a a.b a.b.c", package: str = "p") -> set[TakenName]:
    source = Source(text, package, set(read.split()))
    return set(taken_names({"me": source}, set(modules.split())))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from a import x", {("a", "x", "x")}),
        ("from a import x as y, z", {("a", "x", "y"), ("a", "z", "z")}),
        ("from a import (  # why\n    x,\n    z,  # and\n)", {("a", "x", "x"), ("a", "z", "z")}),
        ("from a import x, \\\n    z\n", {("a", "x", "x"), ("a", "z", "z")}),
        ("    from a.b import x\n", {("a.b", "x", "x")}),
        ("from a import b\nb.f()", {("a.b", "", "b"), ("a.b", "f", "b.f")}),
        ("import a.b.c as m\nm.f.g", {("a.b.c", "", "m"), ("a.b.c", "f", "m.f")}),
        ("import a.b\na.b.f", {("a.b", "", "a.b"), ("a.b", "f", "a.b.f")}),
        ("import a, other\na.x", {("a", "", "a"), ("a", "x", "a.x")}),
        ("from other import x", set()),
        ("import a; a.x", {("a", "", "a"), ("a", "x", "a.x")}),
        ("from a import", set()),
        ("if x: pass  # from a import y", set()),
    ],
)
def test_statements_are_found(text: str, expected: set[tuple[str, str, str]]) -> None:
    found = {(each.module, each.name, each.alias) for each in taken(text, "")}
    assert found == expected


def test_relative_imports_start_at_the_package() -> None:
    modules = "p p.q p.r p.r.s"
    for text, module in (("from .q import x", "p.q"), ("from ..q import x", "p.q")):
        package = "p" if text.startswith("from .q") else "p.r"
        [one] = taken(text, "x", modules, package)
        assert (one.module, one.name, one.read) == (module, "x", True)
    assert taken("from .......q import x", "x", modules) == set()


def test_a_name_that_is_handed_on_is_read_by_the_last() -> None:
    sources = {
        "top": Source("from api import f as g, h", "", {"g"}),
        "api": Source("from inner import f\nfrom inner import *", "", set()),
    }
    read = {(each.module, each.name): each.read for each in taken_names(sources, {"api", "inner"})}
    assert read == {
        ("api", "f"): True, ("api", "h"): False, ("inner", "f"): True, ("inner", "*"): False,
    }  # fmt: skip


@given(st.text(alphabet="from import as.,()\\\n*ab#;\t\0é", max_size=80))
def test_any_text_is_read(text: str) -> None:
    for each in taken(text, "a b"):
        assert each.module in {"a", "a.b", "a.b.c"}
        assert re.search(r"\bimport\b", text)


def test_a_source_that_is_no_file_is_empty(tmp_path: Path) -> None:
    record = process()
    for number, file in enumerate((tmp_path, tmp_path / "missing.py", Path("/dev/zero.py"))):
        event = python_module(f"m{number}", 1.0)
        record.imports.append(ImportEvent(**{**vars(event), "file": str(file)}))
    assert imports_of([record]).names == []


def test_lists_of_names_that_do_not_end_are_read_once() -> None:
    """Else the time would grow with the square of a source's length."""
    source = Source("from a import (\n" * 100_000 + "import a\n", "", {"a"})
    assert taken_names({"m": source}, {"a", "m"}) == [TakenName("a", "", "m", "a", True)]
