"""Files that were only looked at go where files come back, and stay where they do not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hand_made_root import Content, Link, Program, elf, root_of, used

from trimtab.config.groups.debloat import Debloat, Fallback, Files
from trimtab.debloating.files.closure import Use, kept_paths
from trimtab.debloating.files.tree import Tree
from trimtab.debloating.removal import Removal
from trimtab.profiling.tracing.files import FileUse
from trimtab.records.usage import Usage, UsedFile

LINKER = "/lib64/ld-linux-x86-64.so.2"
LARGE, SMALL = "x" * 5000, "x" * 4096
ROOT: dict[str, Content] = {
    LINKER: Program(elf()),
    "/bin/dynamic": Program(elf(interpreter=LINKER)),
    "/bin/static": Program(elf()),
    "/bin/musl": Program(elf(interpreter="/lib/ld-musl-x86_64.so.1")),
    "/bin/script": Program(b"#!/bin/dynamic\n"),
    "/bin/folder/file": "",
    "/data/large": LARGE,
    "/data/small": SMALL,
    "/data/read": LARGE,
    "/data/way": Link("large"),
    "/listed/large": LARGE,
    "/listed/small": SMALL,
    "/listed/folder/file": LARGE,
}
LOOKS: list[Use] = [
    *used("/data/large", "/data/small", "/data/way", uses="stat"),
    *used("/data/read", uses="read stat"),
    *used("/listed", uses="list"),
]
STAY = {
    *("/data", "/data/small", "/data/way", "/data/read"),
    *("/listed", "/listed/small", "/listed/folder"),
}


def kept(tree: Tree, *more: Use, comes_back: bool = True) -> set[str]:
    found = kept_paths(tree, [[*LOOKS, *more]], comes_back=comes_back)
    return {path for path in found if path.startswith(("/data", "/listed"))}


def test_large_files_go_where_they_come_back_and_the_way_to_them_stays() -> None:
    assert kept(root_of(ROOT)) == STAY
    assert kept(root_of(ROOT), comes_back=False) == STAY | {"/data/large", "/listed/large"}


def test_what_another_run_opened_stays() -> None:
    opened = FileUse("/data/way", "/data/large", frozenset({"read"}))
    assert kept(root_of(ROOT), opened) == STAY | {"/data/large"}


RUN = Usage(
    workload="w", command=["dynamic"], complete=True, files_complete=True,
    files=[
        UsedFile("/bin/dynamic", "/bin/dynamic", ["execute"]),
        UsedFile("/bin/script", "/bin/script", ["execute"]),
        UsedFile("/bin/folder", "/bin/folder", ["execute"]),  # a root that was changed since
        UsedFile("/data/large", "/data/large", ["stat"]),
    ],
)  # fmt: skip


def removal(*more: Usage, tops: Sequence[str] = (), **options: object) -> Removal:
    given = Debloat(name="x", files=Files.REMOVE, **options)  # type: ignore[arg-type]
    return Removal.of(root_of(ROOT, *tops), [RUN, *more], [], [], given)


@pytest.mark.parametrize(
    ("program", "heard"), [("/bin/dynamic", True), ("/bin/static", False), ("/bin/musl", False)]
)
def test_they_stay_where_a_program_loads_no_fallback(program: str, heard: bool) -> None:
    ran = RUN.model_copy(update={"files": [UsedFile(program, program, ["execute"])]})
    found = removal(ran)
    assert found.goes("data/large") is heard
    assert found.started_by_init is not heard


def test_they_stay_where_a_program_makes_calls_of_its_own() -> None:
    found = removal(RUN.model_copy(update={"own_calls": ["/bin/dynamic"]}))
    assert found.started_by_init and not found.goes("data/large")


def test_nothing_takes_the_first_program_where_nothing_comes_back() -> None:
    own_calls = RUN.model_copy(update={"own_calls": ["/bin/dynamic"]})
    found = removal(own_calls, fallback=Fallback.NONE)
    assert not found.started_by_init and not found.goes("data/large")


def test_programs_of_a_folder_are_started_by_others() -> None:
    own_calls = RUN.model_copy(update={"own_calls": ["/bin/dynamic"]})
    assert not removal(own_calls, tops=["/opt/e"]).started_by_init


def test_a_file_of_several_names_stays() -> None:
    tree = root_of(ROOT)
    names = ("/data/large", "/listed/large")
    shared = {path: replace(tree.nodes[path], file_id="one file") for path in names}
    assert kept(replace(tree, nodes={**tree.nodes, **shared})) == STAY | set(names)


def test_a_module_that_was_read_and_not_imported_needs_no_byte_code() -> None:
    package = "/usr/lib/python3.11/site-packages/p"
    cache = f"{package}/__pycache__"
    names = ("imported", "read", "seen")
    root: dict[str, Content] = {f"{package}/{name}.py": LARGE for name in names}
    root |= {f"{cache}/{name}.cpython-311.pyc": LARGE for name in names}
    uses = [
        *used(f"{package}/imported.py", f"{cache}/seen.cpython-311.pyc", uses="stat"),
        *used(f"{package}/read.py", f"{cache}/imported.cpython-311.pyc"),
    ]
    found = set(kept_paths(root_of(root), [uses], comes_back=True))
    assert {path for path in found if root.get(path) == LARGE} == {
        *(f"{package}/imported.py", f"{package}/read.py", f"{cache}/imported.cpython-311.pyc"),
    }
    whole = set(kept_paths(root_of(root), [uses]))
    assert whole >= root.keys()
