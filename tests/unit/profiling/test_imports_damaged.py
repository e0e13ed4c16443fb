"""Records of imports that the recorded program damaged."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.profiling.imports.attribution import imports_of
from trimtab.profiling.imports.reading import read_records
from trimtab.profiling.imports.tables import document_of, modules_table
from trimtab.records.imports.tables import IMPORTED_MODULES
from trimtab.records.parquet.files import write_table
from trimtab.untrusted import UntrustedFileError

PROCESS = "('process', '', '3.11.7', 'counters', '/python', '/python', 'x.py')"
IMPORT = "('import', 1, -1, 'm', '', 'python', '/m.py', 5, 7000000005, 3, 7)"
LINES = (PROCESS, IMPORT, "('ran', '/m.py', 2, 'a b')", "('end', '/x.py')")


def written(folder: Path, *lines: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "1-1").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_a_whole_record_is_read(tmp_path: Path) -> None:
    [record] = read_records(written(tmp_path / "r", *LINES))
    [event] = record.imports
    assert (record.command, record.has_end, record.main) == (("/python", "x.py"), True, "/x.py")
    assert (event.total_s, event.growth_bytes) == (7.0, 4 * os.sysconf("SC_PAGE_SIZE"))
    assert record.functions == {"/m.py": 2} and record.names["/m.py"] == {"a", "b"}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "1",
        "()",
        "('import',)",
        IMPORT.replace("5,", "'5',"),
        IMPORT.replace("3, 7", "3, b'7'"),
        "('ran', '/m.py', 'many', '')",
        "('end', '', '')",
        "('process', 1, 2, 3, 4)",
        "__import__('os').abort()",
        "(" * 5000,
        "-" * 100_000 + "1",
        "[1]*10**10",
        "{'a': 1}",
        "('é',)",
        "'\\ud800'",
    ],
    ids=range(16),
)
def test_a_damaged_line_is_left_out(tmp_path: Path, line: str) -> None:
    good = read_records(written(tmp_path / "good", *LINES))
    assert read_records(written(tmp_path / "bad", LINES[0], line, *LINES[1:])) == good


@given(st.binary(max_size=200), st.integers(0, 400))
def test_any_bytes_are_read(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, place: int
) -> None:
    folder = written(tmp_path_factory.mktemp("records"), *LINES)
    data = (folder / "1-1").read_bytes()
    (folder / "1-1").write_bytes(data[:place] + noise + data[place:])
    imports_of(read_records(folder))


def test_a_module_may_have_any_number_of_importers(tmp_path: Path) -> None:
    """Time that grows with their square would be hours for a record at its limit."""
    many = 100_000
    lines = (IMPORT.replace("'m', ''", f"'m', 'by{number}'") for number in range(many))
    [module] = imports_of(read_records(written(tmp_path / "r", PROCESS, *lines))).modules
    assert len(module.importers) == many


def test_lines_before_the_first_are_no_record(tmp_path: Path) -> None:
    assert read_records(written(tmp_path / "r", *LINES[1:])) == []
    assert read_records(tmp_path / "missing") == []


def test_numbers_of_any_size_fit_into_the_tables(tmp_path: Path) -> None:
    huge = IMPORT.replace("3, 7", f"{10**30}, {-(10**30)}").replace("7000000005", str(10**30))
    run = imports_of(read_records(written(tmp_path / "r", PROCESS, huge, huge)))
    write_table(tmp_path / "modules.parquet", IMPORTED_MODULES, modules_table(run))
    document_of(run, ["python"], 0).write(tmp_path / "imports.json")


@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_other_kinds_of_files_are_refused(tmp_path: Path, kind: str) -> None:
    records = tmp_path / "records"
    records.mkdir()
    {
        "pipe": os.mkfifo,
        "folder": os.mkdir,
        "link": lambda path: path.symlink_to("/dev/zero"),
    }[kind](records / "1-1")
    with pytest.raises(UntrustedFileError, match="1-1"):
        read_records(records)
