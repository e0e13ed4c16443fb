"""Files that were only looked at go where files come back, and stay where they do not."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hand_made_root import Content, Link, Program, elf, root_of, used

from trimtab.config.groups.debloat import Debloat, Fallback, Remove
from trimtab.debloating.files.closure import PathUse, kept_paths
from trimtab.debloating.files.tree import FileTree
from trimtab.debloating.removal import Removal
from trimtab.profiling.tracing.files import FileUse
from trimtab.records.usage import Usage, UsedFile

LINKER = "/lib64/ld-linux-x86-64.so.2"
LARGE, SMALL = "x" * 5000, "x" * 4096
ROOT: dict[str, Content] = {
    LINKER: Program(elf()),
    "/bin/dynamic": Program(elf(interpreter=LINKER)),
    "/bin/static": Program(elf()),
    "/bin/go": Program(elf(interpreter=LINKER, of_go=True)),
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
LOOKS: list[PathUse] = [
    *used("/data/large", "/data/small", "/data/way", uses="stat"),
    *used("/data/read", uses="read stat"),
    *used("/listed", uses="list"),
]
STAY = {
    *("/data", "/data/small", "/data/way", "/data/read"),
    *("/listed", "/listed/small", "/listed/folder"),
}


def kept(tree: FileTree, *more: PathUse, comes_back: bool = True) -> set[str]:
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
    given = Debloat(name="x", remove=Remove.FILES, **options)  # type: ignore[arg-type]
    return Removal.of(root_of(ROOT, *tops), [RUN, *more], [], [], given)


@pytest.mark.parametrize(
    ("program", "heard"),
    [("/bin/dynamic", True), ("/bin/static", False), ("/bin/musl", False), ("/bin/go", False)],
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
    shared = dict.fromkeys(names, tree.nodes[names[0]])
    assert kept(replace(tree, nodes={**tree.nodes, **shared})) == STAY | set(names)


PACKAGE = "/usr/lib/python3.11/site-packages/p"


def modules(**found: str) -> tuple[dict[str, Content], Callable[[str, str], str]]:
    """A root with modules of a package: of each "source", "byte code" or both, by its name."""

    def place(name: str, kind: str) -> str:
        cached = f"__pycache__/{name}.cpython-311.pyc"
        return f"{PACKAGE}/{name}.py" if kind == "source" else f"{PACKAGE}/{cached}"

    root: dict[str, Content] = {
        place(name, kind): LARGE for name, kinds in found.items() for kind in kinds.split(", ")
    }
    root[f"{PACKAGE}-1.dist-info/RECORD"] = "p/__init__.py,,\np/imported.py,,\n"
    root[f"{PACKAGE}-1.dist-info/METADATA"] = "Name: p\n"
    return root, place


def test_byte_code_that_was_read_needs_no_source_and_a_source_that_was_no_byte_code() -> None:
    both = "source, byte code"
    root, place = modules(__init__=both, imported=both, read=both, seen=both, inspected=both)
    uses = [
        *used(place("__init__", "source"), place("imported", "source"), uses="stat"),
        *used(place("__init__", "byte code"), place("imported", "byte code")),
        *used(place("seen", "byte code"), uses="stat"),
        *used(place("read", "source"), place("inspected", "source"), uses="read stat"),
        *used(place("inspected", "byte code")),
    ]
    found = kept_paths(root_of(root), [uses], comes_back=True)
    assert {path for path in found if root.get(path) == LARGE} == {
        *(place("__init__", "byte code"), place("imported", "byte code")),
        *(place("read", "source"), place("inspected", "source"), place("inspected", "byte code")),
    }
    assert found.replaced == {place("__init__", "source"), place("imported", "source")}
    assert f"{PACKAGE}-1.dist-info/METADATA" in found
    whole = kept_paths(root_of(root), [uses])
    assert set(whole) >= root.keys() and not whole.replaced


def test_in_a_part_of_a_root_sources_stay_with_their_byte_code() -> None:
    """There Python itself starts before anything is stood for."""
    root, place = modules(imported="source, byte code")
    uses = [*used(place("imported", "source"), uses="stat"), *used(place("imported", "byte code"))]
    inside = root_of({path.removeprefix("/usr"): data for path, data in root.items()}, "/usr")
    found = kept_paths(inside, [uses], comes_back=True)
    assert place("imported", "source").removeprefix("/usr") in found and not found.replaced


@pytest.mark.parametrize("compiles", [True, False])
def test_a_source_goes_where_byte_code_is_made_of_it(compiles: bool) -> None:
    root, place = modules(__init__="source", imported="source", run="source", old="source")
    root[place("old", "other").replace("311", "39")] = LARGE
    uses = [
        *used(
            *(place(name, "source") for name in ("__init__", "imported", "old")), uses="read stat"
        ),
        *used(place("run", "source"), uses="read execute"),
    ]
    found = kept_paths(root_of(root), [uses], comes_back=True, compiles=compiles)
    goes = {place("__init__", "source"), place("imported", "source")} if compiles else set()
    assert found.replaced == goes
    assert {place(name, "source") for name in ("__init__", "imported", "run", "old")} - set(
        found
    ) == goes
    assert f"{PACKAGE}-1.dist-info/METADATA" in found
    # What settling missed stays after all, and so does what was asked for.
    missed = [UsedFile(place("imported", "source"), None, ["execute", "read"])]
    also = [place("__init__", "source")]
    again = kept_paths(root_of(root), [uses, missed], also, comes_back=True, compiles=compiles)
    assert set(again) >= {place("imported", "source"), *also} and not again.replaced


@pytest.mark.parametrize("versions", [["3.11"], ["3.11", "3.12"], []])
def test_byte_code_is_made_by_the_one_python_that_ran(versions: list[str]) -> None:
    root, place = modules(imported="source")
    root |= {LINKER: Program(elf())}
    names = [f"/usr/bin/python{version}" for version in versions]
    root |= {name: Program(elf(interpreter=LINKER)) for name in names}
    module = place("imported", "source")
    ran = Usage(
        workload="w", command=["x"], complete=True, files_complete=True,
        files=[*(UsedFile(name, name, ["execute"]) for name in names),
               UsedFile(module, module, ["read", "stat"])],
    )  # fmt: skip
    options = Debloat(name="x", remove=Remove.FILES)
    found = Removal.of(root_of(root), [ran], [], [], options, compiles=True)
    assert found.goes(module[1:]) is (len(versions) == 1)
    (row,) = (row for row in found.rows("t", "h") if row["path"] == module[1:])
    assert row["reason"] == (
        "byte code is in its place" if len(versions) == 1 else "used in a profiled run"
    )
    assert not Removal.of(root_of(root), [ran], [], [], options).goes(module[1:])
