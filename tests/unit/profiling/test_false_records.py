"""Records that are well formed and not true, and files that are others after a run than in it."""

import sys
from pathlib import Path

import pytest

from trimtab.config.groups.workload import Workload
from trimtab.profiling import usage
from trimtab.profiling.profile import trace_workload
from trimtab.profiling.tracing.functions import read_function_trace
from trimtab.records.usage import Usage

# A program that has the record of an object that names `file` in the folder of its records.
FORGES = """
import os, struct
file = {file!r}
records = os.environ.get("TRIMTAB_RECORD")
if not file.startswith("/proc"):
    os.truncate(os.open(file, os.O_RDWR | os.O_CREAT), 1 << 40)
if records:
    status = os.stat(file)
    head = struct.pack(
        "<8sIIQQQII", b"TRIMTABO", 1, 0, 0, status.st_ino, min(status.st_size, 1 << 47), 0, 0
    )
    open(records + "/object-1-1", "wb").write(head + file.encode().ljust(4096, bytes(1)))
"""


def trace(folder: Path, code: str) -> Usage:
    command = ["python", "-S", "-c", code]
    mine = Workload("mine", command, python=sys.executable, workdir=str(folder))
    return trace_workload(mine, folder / "runs", 1)


def test_a_library_that_has_no_end_is_not_read_to_it(tmp_path: Path) -> None:
    usage = trace(tmp_path, FORGES.format(file=str(tmp_path / "a terabyte")))
    assert not usage.complete
    problem = f"{tmp_path}/a terabyte: with the libraries before it more than"
    assert problem in str(usage.incomplete_because)


def test_a_file_of_the_kernels_is_not_read_as_a_library(tmp_path: Path) -> None:
    """Some have no length and no end, or what is read of them is gone."""
    usage = trace(tmp_path, FORGES.format(file="/proc/kmsg"))
    assert [each.sha256 for each in usage.libraries if each.path == "/proc/kmsg"] == [None]


def test_a_library_that_its_program_replaces_stays_whole(tmp_path: Path) -> None:
    """What the record says is of the file that was loaded, not of the one that is there now."""
    code = (
        "import ctypes, os, shutil\n"
        "shutil.copyfile({original!r}, 'lib.so')\n"
        "ctypes.CDLL('./lib.so')\n"
        "shutil.copyfile('lib.so', 'new.so')\n"
        "os.rename('new.so', 'lib.so')\n"
    )
    usage = trace(tmp_path, code.format(original=sys.modules["_ctypes"].__file__))
    [library] = [each for each in usage.libraries if each.path == f"{tmp_path}/lib.so"]
    assert not library.traced
    assert library.not_traced_because == "was replaced by another file during the runs"
    assert usage.complete, usage.incomplete_because


def test_what_a_program_could_not_read_again_was_not_replaced(tmp_path: Path) -> None:
    code = "import _json, resource; resource.setrlimit(7, (3, 3)); import _csv"
    mine = Workload(
        "mine", ["python", "-c", code], python=sys.executable, workdir=str(tmp_path), ends_with="1"
    )
    trace_workload(mine, tmp_path / "runs", 1)
    found = read_function_trace(tmp_path / "runs/functions-0").incomplete_because
    assert "replaced" not in str(found)


def test_of_very_many_files_those_of_code_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of a data set, of which a traced.json could not be read again."""
    monkeypatch.setattr(usage, "_MOST_LISTED_CHARACTERS", 1 << 14)
    code = "import _json, os\nfor i in range(300): os.path.exists(f'data/{i}')"
    traced = trace(tmp_path, code)
    assert traced.complete and "and of those that are no code only" in traced.notes[-1]
    mapped = {file.real_path for file in traced.files if "map_execute" in file.uses}
    assert any("/_json." in str(path) for path in mapped)
    program = str(Path(sys.executable).resolve())
    assert {library.path for library in traced.libraries} <= mapped | {program}
