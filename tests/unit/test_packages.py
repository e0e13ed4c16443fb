"""The packages of the source: who may import whom, how large they are, and that each is used.

docs/architecture.md draws them; the picture is read here, so that it is true.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from trimtab.sources import imports_of, searched_by

PROJECT = Path(__file__).resolve().parents[2]
SOURCE = PROJECT / "src"
MOST_OF_A_ROOM = 0.15
MOST_MODULES = 15
MOST_CHARACTERS = 80  # of a text that may be an annotation
KNOWS_NOTHING_BUT = {
    "evaluation": {"config", "records", "files", "plugins", "errors"},
    "binaries": {"files", "zstd", "errors"},
    "cold_store": set(),
    "images": {"files", "zstd", "errors"},
    "queueing": {"errors"},
    "traces": {"records", "files", "plugins", "errors"},
    "workloads": {"files", "errors"},
}
STARTS_PROCESSES = {"subprocess", "multiprocessing", "concurrent", "asyncio", "pty"}
STARTS_A_PROCESS = re.compile(r"\bos\.(system|popen|fork|exec|spawn|posix_spawn)")
RELATIVE = re.compile(r"^ *from \.", re.MULTILINE)
IMPORTED = re.compile(r"^ *(?:from|import) (\w+)", re.MULTILINE)
QUOTED = re.compile(r"[\"'](trimtab(?:\.\w+)+)\.?[\"'{]")
READS_COMMAND_LINES = {"cli", "cold_store", "workloads"}
LIBRARY = "docs/reference/library.md"  # entries of which nothing else may make use

Graph = dict[str, set[str]]


@cache
def modules() -> dict[str, Path]:
    """Every module and package of the source by its full name."""
    named = {}
    for path in (SOURCE / "trimtab").rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        named[".".join(parts[:-1] if path.name == "__init__.py" else parts)] = path
    return named


def ours(path: Path) -> set[str]:
    """The modules of trimtab that a file imports, also inside functions."""
    named = imports_of(path.read_bytes()) & modules().keys()
    # Of `from package import module` the module is meant.
    return {name for name in named if not any(other.startswith(f"{name}.") for other in named)}


@cache
def imports() -> Graph:
    """For each module those that it imports."""
    return {name: ours(path) - {name} for name, path in modules().items()}


def owner(module: str) -> str:
    """The folder or module of src/trimtab that `module` lies in; "" for the package itself."""
    return module.split(".")[1] if "." in module else ""


def levels() -> dict[str, int]:
    """Each package's height in the picture of docs/architecture.md."""
    text = (PROJECT / "docs/architecture.md").read_text()
    picture = text.split("```text\n")[1].split("```")[0]
    rows = [line.rpartition("│")[0] for line in picture.splitlines() if line.startswith("│")]
    return {
        name: len(rows) - number
        for number, row in enumerate(rows)
        for name in re.findall(r"\w+", row)
    }


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def a_circle(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def within(folder: str) -> Graph:
    """What each module and folder of a folder, taken as a whole, imports of the others."""

    def part(module: str) -> str:
        return module.removeprefix(f"{folder}.").split(".")[0] if module != folder else "__init__"

    graph: Graph = {}
    for module, imported in imports().items():
        if is_in(module, folder):
            parts = {part(name) for name in imported if is_in(name, folder)}
            graph.setdefault(part(module), set()).update(parts - {part(module)})
    return graph


def is_in(module: str, folder: str) -> bool:
    return module == folder or module.startswith(f"{folder}.")


def packages() -> list[str]:
    return sorted(name for name, path in modules().items() if path.name == "__init__.py")


def test_the_picture_shows_every_room() -> None:
    assert set(levels()) == {owner(name) for name in modules()} - {""}


def test_imports_are_written_out() -> None:
    """Else the tests here, and the workflow's list of what a rule depends on, would miss them."""
    assert [path for path in modules().values() if RELATIVE.search(path.read_text())] == []


def test_a_room_imports_rooms_below_it_only() -> None:
    height = levels()
    assert [
        f"{module} imports {name}"
        for module, imported in imports().items()
        for name in sorted(imported)
        if owner(name) != owner(module) and height[owner(name)] >= height[owner(module)]
    ] == []


@pytest.mark.parametrize("folder", packages())
def test_nothing_goes_in_circles(folder: str) -> None:
    circle = a_circle(within(folder))
    assert not circle, " -> ".join(circle)


@pytest.mark.parametrize("name", KNOWS_NOTHING_BUT)
def test_some_rooms_know_little(name: str) -> None:
    assert [
        f"{module} imports {other}"
        for module, imported in imports().items()
        if owner(module) == name
        for other in sorted(imported)
        if owner(other) not in KNOWS_NOTHING_BUT[name] | {name}
    ] == []


def test_binaries_start_no_process() -> None:
    assert offenders("binaries", lambda path: tops(path) & STARTS_PROCESSES) == []
    assert offenders("binaries", lambda path: STARTS_A_PROCESS.search(path.read_text())) == []


def test_scheduling_touches_no_binary() -> None:
    assert [
        f"{module} imports {name}"
        for module, imported in imports().items()
        if owner(module) in {"policies", "simulation", "execution", "scheduling"}
        for name in sorted(imported)
        if owner(name) in {"binaries", "debloating"}
    ] == []


def test_who_reads_command_lines() -> None:
    for name in set(levels()) - READS_COMMAND_LINES:
        assert offenders(name, lambda path: tops(path) & {"argparse", "typer", "click"}) == []


def test_nothing_imports_scripts() -> None:
    scripts = {"scripts", *(path.stem for path in (PROJECT / "scripts").glob("*.py"))}
    others = [PROJECT / folder for folder in ("src", "scripts", "benchmarks", "tests")]
    paths = [path for folder in others for path in folder.rglob("*.py")]
    assert [path for path in paths if tops(path) & scripts] == []


def test_no_room_is_large() -> None:
    size = Counter[str]()
    for module, path in modules().items():
        size[owner(module)] += lines(path)
    share = {name: count / size.total() for name, count in size.items()}
    assert {name: part for name, part in share.items() if part > MOST_OF_A_ROOM} == {}


def test_no_folder_is_crowded() -> None:
    crowd = Counter(path.parent for path in modules().values() if path.name != "__init__.py")
    assert {folder: count for folder, count in crowd.items() if count > MOST_MODULES} == {}


def test_every_module_is_reached() -> None:
    """From the command line, a rule, a program that a YAML or a recipe names, or a library entry.

    A page that mentions a module, and a benchmark that uses one, do not count.
    """
    entries = {"trimtab.cli.main"}.union(*map(ours, (PROJECT / "scripts").glob("*.py")))
    texts = [PROJECT / name for name in ("pyproject.toml", "Snakefile", LIBRARY)]
    for folder, kind in (
        ("rules", "*.smk"),
        ("conf", "*.yaml"),
        ("examples", "Containerfile"),
        ("native", "*.[ch]"),
    ):
        texts += (PROJECT / folder).rglob(kind)
    entries = entries.union(*(named_in(path.read_text()) for path in texts))
    idle = {name for name, path in modules().items() if path.name != "__init__.py"} - reach(entries)
    assert sorted(idle) == []


def test_every_function_is_used() -> None:
    """By source, a script, a rule or a benchmark, or as a library entry: not by tests alone.

    A class with bases is left out: sections, meters and targets are found by existing.
    """
    folders = [PROJECT / name for name in ("scripts", "benchmarks")]
    paths = [*modules().values(), *(path for folder in folders for path in folder.rglob("*.py"))]
    used = {word for path in paths for word in words_of(ast.parse(path.read_bytes()))}
    for path in (*(PROJECT / "rules").glob("*.smk"), PROJECT / "Snakefile", PROJECT / "dvc.yaml"):
        used.update(re.findall(r"\w+", path.read_text()))
    library = named_in((PROJECT / LIBRARY).read_text())
    assert [
        f"{module}.{part.name}"
        for module, path in modules().items()
        if module not in library
        for part in ast.parse(path.read_bytes()).body
        if isinstance(part, ast.FunctionDef | ast.ClassDef)
        and not getattr(part, "bases", [])
        and not any("command" in ast.unparse(each) for each in part.decorator_list)
        and part.name not in used
    ] == []


def test_the_page_names_every_document_and_table() -> None:
    page = (PROJECT / "docs/architecture.md").read_text()
    records = "".join(path.read_text() for path in (SOURCE / "trimtab/records").glob("*.py"))
    documents = re.findall(r"^class (\w+)\(Document\)", records, re.MULTILINE)
    tables = re.findall(r"^([A-Z]\w*) = pa\.schema", records, re.MULTILINE)
    assert documents and tables
    assert [name for name in documents + tables if f"`{name}`" not in page] == []


def named_in(text: str) -> set[str]:
    """The modules that a text names, by a path or with dots, whatever stands behind."""
    named = set()
    for match in re.findall(r"\btrimtab(?:[./]\w+)+", text):
        words = re.split(r"[./]", match)
        while ".".join(words) not in modules():
            words.pop()
        named.add(".".join(words))
    return named


def reach(entries: Iterable[str]) -> set[str]:
    """What `entries` import, directly or not, and the modules that join a package by existing."""
    found: set[str] = set()
    waiting = set(entries)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting |= imports()[module] | joining(module)
    return found


def joining(module: str) -> set[str]:
    """The modules of packages that `module` searches, or names to find what is in them."""
    searched = searched_by(modules()[module].read_bytes())
    named = set(QUOTED.findall(modules()[module].read_text())) & set(packages())
    return {
        name
        for name in modules()
        if name.rpartition(".")[0] in named or any(is_in(name, package) for package in searched)
    }


def words_of(tree: ast.AST) -> Iterator[str]:
    """The names that a file uses, also in short texts, as annotations in quotes are."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
            case ast.Constant(value=str(text)) if len(text) < MOST_CHARACTERS:
                yield from re.findall(r"\w+", text)


def tops(path: Path) -> set[str]:
    """The first words of what a file imports."""
    return set(IMPORTED.findall(path.read_text()))


def offenders(name: str, offends: Callable[[Path], object]) -> list[str]:
    return [module for module, path in modules().items() if owner(module) == name and offends(path)]
