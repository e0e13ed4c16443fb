"""Imports from an archive of byte code are those that Python makes without it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.debloating.fallback import ARCHIVE, FILE_FALLBACK_LIBRARY
from trimtab.debloating.module_archive.writing import (
    FIRST_BYTES,
    Loading,
    archived,
    hook,
    write_archive,
)
from trimtab.debloating.targets.python_prefix import _FORGET_FOLDERS
from trimtab.native import native_path

PACKAGES = "lib/python3/site-packages"
LONG_AGO_NS = 10**18
SOURCE = "import sys\nVALUE = {value!r}\ndef function():\n    return sys._getframe().f_lineno\n"
# Prints what each statement finds, and how often byte code of the tree was opened.
PROGRAM = """
import importlib, json, os, sys, threading, types
import importlib.util
here, sitedir, statements = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
opened = []
sys.addaudithook(lambda event, words: event == "open" and str(words[0]).startswith(here)
                 and str(words[0]).endswith(".pyc") and opened.append(words[0]))
exec(sys.argv[4])
def seen(name):
    module = importlib.import_module(name)
    spec, loader = module.__spec__, module.__spec__.loader
    function = getattr(module, "function", None)
    return [
        getattr(module, key, None) and str(getattr(module, key))
        for key in ("VALUE", "__file__", "__cached__", "__name__", "__package__")
    ] + [
        [*getattr(module, "__path__", [])], spec.name, spec.origin, spec.cached, spec.parent,
        spec.has_location, str(type(loader)), sorted(vars(loader)) if loader else [],
        function and [function.__code__.co_filename, function()],
        [*(spec.submodule_search_locations or [])],
    ]
found = []
for statement in statements:
    try:
        found.append(eval(statement))
    except Exception as error:
        found.append([type(error).__name__, str(error)])
print(json.dumps([found, len(opened)]))
"""


def versions() -> Iterator[object]:
    """Each Python of 3.8 to 3.13, as a parameter; those that are not here are skipped."""
    for minor in range(8, 14):
        name = f"python3.{minor}"
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        places = [*sorted(pyenv.glob(f"3.{minor}.*/bin/{name}")), shutil.which(name)]
        works = [str(path) for path in places if path and is_version(path, minor)]
        why = pytest.mark.skip(reason=f"{name} is not here; `pyenv install 3.{minor}`")
        yield pytest.param(*works[:1] or [""], marks=() if works else why, id=name)


def is_version(path: str | Path, minor: int) -> bool:
    command = [path, "-c", "import sys; print(sys.version_info[1])"]
    try:
        return subprocess.check_output(command, text=True, timeout=60) == f"{minor}\n"
    except (OSError, subprocess.SubprocessError):
        return False


class Tree:
    """An environment of small modules in `site-packages`, and a folder `more` of others."""

    def __init__(self, root: Path, python: str) -> None:
        self.root, self.python = root, Path(python)
        self.packages, self.more = root / PACKAGES, root / "more"
        self.packages.mkdir(parents=True)
        self.more.mkdir()
        (root / "cwd").mkdir()
        (root / "trimtab").mkdir()
        library = shutil.copy(native_path(FILE_FALLBACK_LIBRARY.name), root / "trimtab")
        (self.packages / "trimtab_file_fallback.abi3.so").symlink_to(library)

    def write(self, path: str, value: str | None = None) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(SOURCE.format(value=value or path))
        return place

    def archive(self, every: int = 1) -> int:
        """Compile all, and write the archive of one in `every`; return how many modules it has."""
        where = [self.packages, self.more]
        compiles: list[str | Path] = [self.python, "-I", "-m", "compileall", "-q", *where]
        subprocess.run(compiles, check=True, timeout=60)
        for folder in [*self.root.rglob("*")]:
            if folder.is_dir():  # a change is seen by the time, which the kernel counts in ticks
                os.utime(folder, ns=(LONG_AGO_NS, LONG_AGO_NS))
        byte_code = sorted(map(str, self.root.rglob("*.pyc")))[::every]
        modules = archived(self.root, byte_code, self.python)
        write_archive(self.root, self.root, self.root, modules, self.python)
        return len(modules)

    def run(
        self, *statements: str, line: str = "", options: tuple[str, ...] = (), **variables: str
    ) -> tuple[list[object], int]:
        """Return what the statements find, and how many files of byte code were opened."""
        words = [str(self.root), str(self.packages), json.dumps(statements), line]
        command: list[str | Path] = [self.python, "-B", *options, "-c", PROGRAM, *words]
        variables = {"PYTHONPATH": f"{self.packages}:{self.more}", **variables}
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=60, cwd=self.root / "cwd",
            env={**os.environ, **variables},
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        found, opened = json.loads(ran.stdout)
        return found, opened

    def check(
        self, *statements: str, options: tuple[str, ...] = (), **variables: str
    ) -> tuple[list[object], int]:
        """Compare with Python's own finder; the archive has to do without files of byte code."""
        expected, _ = self.run(*statements, line=_FORGET_FOLDERS, options=options, **variables)
        for path in self.root.rglob("*.pyc"):
            if path.parent.name == "__pycache__":
                path.unlink()
        found = self.run(*statements, line=hook(Loading.NEVER), options=options, **variables)
        assert found[0] == expected
        return found


@pytest.fixture(params=versions())
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Tree:
    """Modules, packages with modules, a namespace of two parts; archived."""
    tree = Tree(tmp_path, request.param)
    for name in ("one", "two", "whole/__init__", "whole/part", "whole/deep/__init__", "parts/a"):
        tree.write(f"{PACKAGES}/{name}.py")
    for name in ("two", "three", "parts/b"):
        tree.write(f"more/{name}.py")
    assert tree.archive() == 9
    return tree


@pytest.fixture
def ours(tmp_path: Path) -> Tree:
    """One module and one package, of this Python alone."""
    tree = Tree(tmp_path, sys.executable)
    for name in ("one", "whole/__init__", "whole/part"):
        tree.write(f"{PACKAGES}/{name}.py")
    assert tree.archive() == 3
    return tree


NAMES = "one two three whole whole.part whole.deep parts parts.a parts.b json whole.no no"
SEEN = [f"seen({name!r})" for name in NAMES.split()]
OTHERS = [
    "seen('whole') == seen('whole') and importlib.reload(sys.modules['whole']).VALUE",
    "importlib.invalidate_caches() or importlib.util.find_spec('one').origin",
    "sorted(each.name for each in __import__('pkgutil').walk_packages([sitedir]))",
    "__import__('runpy').run_module('one', run_name='x')['VALUE']",
    "__import__('inspect').getsource(importlib.import_module('one').function)",
    "importlib.util.find_spec('three').loader.get_source('three')",
    "repr(importlib.util.find_spec('whole.part')).replace('0x', '')[:40]",
    "__import__('pickle').loads(__import__('pickle').dumps(importlib.util.find_spec('three')))"
    ".loader.get_code('three').co_filename",
    "__import__('copy').copy(importlib.util.find_spec('three').loader).get_code('three').co_names",
    "importlib.util.find_spec('two').loader.get_code('other')",
    "[path[-6:] for path in sys.path_importer_cache if path.startswith(here)] and 1",
    "(lambda s: s.loader == type(s.loader)(s.name, s.origin))(seen('one') and"
    " sys.modules['one'].__spec__)",
]


def test_modules_and_all_that_they_tell_are_the_same(tree: Tree) -> None:
    found, opened = tree.check(*SEEN)
    assert opened == 0
    assert [line[0] for line in found[:3] if isinstance(line, list)] == [
        f"{PACKAGES}/one.py", f"{PACKAGES}/two.py", "more/three.py",
    ]  # fmt: skip


def test_other_ways_to_modules_and_loaders(tree: Tree) -> None:
    found, _ = tree.check(*OTHERS)
    assert found[-2:] == [1, True]


def test_what_site_asks_for_at_each_start(ours: Tree) -> None:
    asks = [
        "sys.path.remove('') or __import__('site') and None",
        "sys.path_importer_cache.pop(sitedir, None) and None",
        "__import__('site').execsitecustomize() or 'sitecustomize' in sys.modules",
        "sitedir in sys.path_importer_cache",
    ]
    others = ["importlib.util.find_spec('usercustomize')", "seen('sitecustomize')"]
    path, only = str(ours.packages), ("-S",)
    found, _ = ours.run(*asks, options=only, PYTHONPATH=path)
    assert found[2:] == [False, True]
    found, _ = ours.run(*asks, line=hook(Loading.NEVER), options=only, PYTHONPATH=path)
    assert found[2:] == [False, False]
    ours.check(*asks[:3], *others, options=only, PYTHONPATH=path)
    ours.check(*asks[1:3], *others, options=only, PYTHONPATH=path)
    in_cwd = ours.write("cwd/sitecustomize.py")
    found, _ = ours.check(*asks[1:3], options=only, PYTHONPATH=path)
    assert found[1] is True
    in_cwd.unlink()
    ours.write(f"{PACKAGES}/sitecustomize.py")
    for _ in range(2):
        found, _ = ours.check(*asks[:3], *others, options=only, PYTHONPATH=path)
        assert found[2] is True
        ours.archive()


OPTIONS = [("-O",), ("-OO",), ("-I",), ("-E",), ("-v",), ("-X", "importtime"), ("-S",)]


@pytest.mark.parametrize("options", OPTIONS, ids="".join)
def test_options_of_the_interpreter(ours: Tree, options: tuple[str, ...]) -> None:
    ours.check("sys.path.insert(0, sitedir)", *SEEN, options=options)


def test_another_place_of_byte_code(ours: Tree, tmp_path: Path) -> None:
    has_archive = "'trimtab_file_fallback' in str(sys.meta_path)"
    elsewhere = str(tmp_path / "elsewhere")
    found, _ = ours.check(*SEEN, has_archive, PYTHONPYCACHEPREFIX=elsewhere)
    assert found[-1] is False


PATHS = [
    "sys.path.insert(0, '')", "sys.path.insert(0, None)", "sys.path.insert(0, b'x')",
    "sys.path.insert(0, sitedir + '/')", "sys.path.insert(0, sitedir + '/whole')",
    "sys.path.insert(0, os.path.relpath(sitedir))", "sys.path.insert(0, here + '/link')",
    "sys.path.insert(0, here + '/modules.zip')", "sys.path.clear()",
    "setattr(sys, 'path', tuple(sys.path))", "os.chdir(sitedir) or sys.path.insert(0, '')",
]  # fmt: skip


@pytest.mark.parametrize("change", PATHS)
def test_paths_that_change_at_run_time(ours: Tree, change: str) -> None:
    (ours.root / "link").symlink_to(ours.packages / "whole")
    shutil.make_archive(str(ours.root / "modules"), "zip", ours.packages / "whole")
    (ours.root / "cwd/one.py").write_text("VALUE = 'of the folder'\n")
    ours.check(change, *SEEN, "seen('part')")


TAKEN = """
class Taker:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "one":
            return importlib.util.spec_from_loader(name, None, origin="taken")
def patched(self, name, old=importlib.machinery.SourceFileLoader.{method}):
    return compile("VALUE = 'patched'", "<patched>", "exec")
def hook(path):
    if not path.startswith(here):
        raise ImportError
    return Taker
"""
TAKES = [
    "sys.meta_path.insert(0, Taker)", "sys.meta_path.append(Taker)",
    "sys.meta_path.insert(sys.meta_path.index(importlib.machinery.PathFinder), Taker)",
    "sys.meta_path.remove(importlib.machinery.PathFinder)",
    "sys.path_hooks.insert(0, hook)", "sys.path_hooks.append(hook)", "sys.path_hooks.clear()",
    "sys.path_importer_cache.__setitem__(sitedir, Taker)",
    "sys.path_importer_cache.__setitem__(sitedir, None)",
    "setattr(importlib.machinery.SourceFileLoader, 'get_code', patched)",
    "setattr(importlib.machinery.FileFinder, 'find_spec', Taker.find_spec)",
    "setattr(importlib.machinery.SourceFileLoader, 'get_data', lambda self, path: b'VALUE = 7')",
]  # fmt: skip


@pytest.mark.parametrize("take", TAKES)
def test_replaced_import_machinery(ours: Tree, take: str) -> None:
    ours.check(f"exec({TAKEN.format(method='get_code')!r}, globals())", take, *SEEN)


def shadowed_by_a_package(tree: Tree) -> None:
    tree.write(f"{PACKAGES}/one/__init__.py")


def shadowed_by_an_extension(tree: Tree) -> None:
    (tree.packages / "one.abi3.so").write_bytes(b"")


def shadowed_in_its_folder(tree: Tree) -> None:
    (tree.packages / "whole/__init__.abi3.so").write_bytes(b"")


def edited(tree: Tree) -> None:
    tree.write(f"{PACKAGES}/one.py", "of another size, not as it was")
    tree.write(f"{PACKAGES}/whole/__init__.py", "of another size, not as it was")


def touched(tree: Tree) -> None:
    os.utime(tree.packages / "one.py", (5, 5))
    os.utime(tree.packages)


def deleted(tree: Tree) -> None:
    (tree.packages / "one.py").unlink()


def package_without_its_code(tree: Tree) -> None:
    (tree.packages / "whole/__init__.py").unlink()


def folder_gone(tree: Tree) -> None:
    shutil.rmtree(tree.packages / "whole")


def another_folder(tree: Tree) -> None:
    tree.write(f"{PACKAGES}/new.py")


CHANGES = [
    shadowed_by_a_package, shadowed_by_an_extension, shadowed_in_its_folder, edited, touched,
    deleted, package_without_its_code, folder_gone, another_folder,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_changed_files(ours: Tree, change: Callable[[Tree], None]) -> None:
    change(ours)
    ours.check(*SEEN, "seen('new')")


def test_a_folder_beside_a_module_may_become_a_package(tmp_path: Path) -> None:
    tree = Tree(tmp_path, sys.executable)
    tree.write(f"{PACKAGES}/one.py")
    (tree.packages / "one").mkdir()
    assert tree.archive() == 0
    tree.write(f"{PACKAGES}/one/__init__.py")
    tree.check("seen('one')")


def test_a_folder_of_a_package_in_the_path_may_have_modules_that_no_run_read(
    tmp_path: Path,
) -> None:
    tree = Tree(tmp_path, sys.executable)
    for name in ("whole/__init__", "whole/one", "one"):
        tree.write(f"{PACKAGES}/{name}.py")
    tree.archive()
    for path in tree.root.rglob("whole/__pycache__/one.*"):
        path.unlink()
    modules = archived(tree.root, map(str, tree.root.rglob("*.pyc")), tree.python)
    write_archive(tree.root, tree.root, tree.root, modules, tree.python)
    folders = f"{tree.packages}/whole:{tree.packages}"
    found, _ = tree.check("seen('one')[0]", PYTHONPATH=folders)
    assert found == [f"{PACKAGES}/whole/one.py"]


def test_sources_that_are_links_are_left_to_python(tmp_path: Path) -> None:
    tree = Tree(tmp_path, sys.executable)
    cache = tree.write("cache/one.py")
    (tree.packages / "one.py").symlink_to(cache)
    assert tree.archive() == 0
    cache.unlink()
    tree.check("seen('one')")


def test_programs_outside_the_environment_are_not_archived(ours: Tree, tmp_path: Path) -> None:
    paths = [str(path) for path in ours.root.rglob("*.pyc")]
    assert len(archived(ours.root, paths, ours.python)) == 3
    assert archived(tmp_path / "elsewhere", paths, ours.python) == []


def cut(keep: int) -> Callable[[Path], object]:
    return lambda path: os.truncate(path, keep)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "empty": cut(0),
    "header": cut(20),
    "code": cut(1000),
    "finder": lambda path: os.truncate(path, FIRST_BYTES + 20),
    "index": lambda path: os.truncate(
        path, int.from_bytes(path.read_bytes()[12:20], "little") + 20
    ),
    "block": lambda path: os.truncate(path, path.stat().st_size - 50),
    "other": lambda path: path.write_bytes(b"\0" * path.stat().st_size),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_archive_leaves_the_rest_to_python(ours: Tree, damage: str) -> None:
    expected, _ = ours.run(*SEEN)
    path = ours.root / ARCHIVE
    DAMAGES[damage](path)
    is_there = "'trimtab_file_fallback' in str(sys.meta_path)"
    found, _ = ours.run(*SEEN, is_there, line=hook(Loading.NEVER))
    assert found == [*expected, damage in ("finder", "index", "block")]


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_archive_may_be_damaged_while_a_program_runs(ours: Tree, damage: str) -> None:
    expected, _ = ours.run(*SEEN)
    (ours.root / "damaged").mkdir()
    copy = Path(shutil.copy(ours.root / ARCHIVE, ours.root / "damaged/modules"))
    DAMAGES[damage](copy)
    moves = f"os.replace({str(ours.root)!r} + '/trimtab', here + '/gone')"
    moves += " or os.replace(here + '/damaged', here + '/trimtab')"
    found, _ = ours.run(SEEN[0], moves, *SEEN[3:], line=hook(Loading.NEVER))
    assert found == [expected[0], None, *expected[3:]]


def test_another_archive_in_its_place_is_not_taken_for_it(ours: Tree) -> None:
    expected, _ = ours.run(*SEEN)
    old = (ours.root / ARCHIVE).read_bytes()
    (ours.root / "old").mkdir()
    (ours.root / "old/modules").write_bytes(old)
    os.utime(ours.write(f"{PACKAGES}/one.py", "x" * len(f"{PACKAGES}/one.py")), (10**9, 10**9))
    ours.archive()
    assert len((ours.root / ARCHIVE).read_bytes()) == len(old)
    swap = "os.replace(here + '/trimtab', here + '/gone')"
    swap += " or os.replace(here + '/old', here + '/trimtab')"
    indexed = "importlib.util.find_spec('whole').name"
    [*_, value], _ = ours.run(indexed, swap, "seen('one')[0]", line=hook(Loading.NEVER))
    assert value == "x" * len(f"{PACKAGES}/one.py") != expected[0]


def test_threads_that_import_at_once_and_forks(ours: Tree) -> None:
    names = [f"many{number}" for number in range(60)]
    for name in names:
        ours.write(f"{PACKAGES}/{name}.py")
    ours.archive()
    threads = (
        "(lambda ts: [t.start() for t in ts] and [t.join() for t in ts] and sorted(n for n in"
        " sys.modules if n.startswith('many')))([threading.Thread(target=importlib.import_module,"
        f" args=(n,)) for n in {names}])"
    )
    fork = "os.waitpid(os.fork() or seen('one') and os._exit(3), 0)[1] >> 8"
    found, opened = ours.check(threads, fork, "seen('one')")
    assert found[0] == sorted(names) and found[1] == 3 and opened == 0


NAME = st.sampled_from(["m", "n", "p"])
WHERE = st.sampled_from([PACKAGES, "more", f"{PACKAGES}/p", "more/p"])
KIND = st.sampled_from([".py", "/__init__.py", "/x.py", ".pyc", ".abi3.so", "/__init__.abi3.so"])
CHANGE = st.sampled_from(["write", "remove", "touch", "edit"])
CALLS = [f"seen({'.'.join(name)!r})" for name in [*product("mnp"), *product("mnp", "mnpx")]]


def place_of(parts: tuple[str, str, str]) -> str:
    where, name, kind = parts
    return f"{where}/{name}{kind}"


def apply(tree: Tree, kind: str, parts: tuple[str, str, str], number: int) -> None:
    place = tree.root / place_of(parts)
    try:
        if kind == "remove" and place.is_dir():
            shutil.rmtree(place)
        elif kind == "remove":
            place.unlink(missing_ok=True)
        elif kind == "touch":
            os.utime(place.parent)
        elif place.suffix == ".py":
            tree.write(place_of(parts), "edited" * (number + 3))
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"no code")
    except (FileExistsError, NotADirectoryError, FileNotFoundError):
        pass  # a file is where a folder would be, or nothing is there


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(WHERE, NAME, KIND), min_size=3, max_size=14),
    st.lists(st.tuples(CHANGE, st.tuples(WHERE, NAME, KIND)), max_size=4),
    st.permutations([PACKAGES, "more", f"{PACKAGES}/p"]),
    st.integers(1, 3),
    st.integers(1, 2),
)
def test_random_trees_and_changes(
    files: list[tuple[str, str, str]],
    changes: list[tuple[str, tuple[str, str, str]]],
    path: list[str],
    used: int,
    every: int,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder), sys.executable)
        for number, parts in enumerate(files):
            if parts[2] != ".pyc":
                apply(tree, "write", parts, number)
        tree.archive(every)
        for number, (kind, parts) in enumerate(changes):
            apply(tree, kind, parts, 20 + number)
        names = ":".join(f"{folder}/{name}" for name in path[:used])
        tree.check(*CALLS, PYTHONPATH=names)
