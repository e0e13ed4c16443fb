"""Which source files a program depends on, so that a change of code reruns just what it touches."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

_SOURCES = Path(__file__).resolve().parents[1]
_OURS = {"trimtab", "trimtab_trial"}  # beside which others lie where trimtab is installed


def sources_of(entries: Iterable[Path], source: Path = _SOURCES) -> list[Path]:
    """Return the Python files `entries` and every module under `source` they import, sorted.

    That includes the modules of a package that one of them searches. Imports are read from the
    text, nothing is run. The configuration's own modules are left out: what they say reaches a
    stage as its parameters, and rewording a key's meaning is no reason to measure again.
    """
    # Texts instead of paths: there are tens of thousands, and rules ask for them again and again.
    found: set[str] = set()
    configuration = f"{source}/trimtab/config/"
    waiting = [str(path.resolve()) for path in entries]
    while waiting:
        path = waiting.pop()
        if path in found or path.startswith(configuration):
            continue
        found.add(path)
        status = Path(path).stat()
        waiting += _used_by(path, source, (status.st_ctime_ns, status.st_size))
    return sorted(map(Path, found))


@cache
def _used_by(path: str, source: Path, version: tuple[int, int]) -> frozenset[str]:
    """Return the modules under `source` that a `version` of the file imports or searches.

    One that is only made later is found by the next process.
    """
    ours_alone = source.resolve() == _SOURCES
    text = Path(path).read_bytes()
    used = set[str]()
    for name in imports_of(text):
        if ours_alone and name.partition(".")[0] not in _OURS:
            continue
        place = f"{source}/{name.replace('.', '/')}"
        candidates = (f"{place}.py", f"{place}/__init__.py")
        used.update(each for each in candidates if Path(each).is_file())
    for name in searched_by(text):
        used.update(map(str, source.joinpath(*name.split(".")).rglob("*.py")))
    return frozenset(used)


def imports_of(text: bytes) -> frozenset[str]:
    """Return every module that a file may import, also inside functions, by its full name.

    Of `from a import b` both a and a.b are named, as b may be a module.
    """
    names: set[str] = set()
    for node in _statements(_tree(text)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def searched_by(text: bytes) -> frozenset[str]:
    """Return the packages whose `__path__` a file asks for, to find the modules in them.

    The package has to be imported by its own name: `from a import b`, then `b.__path__`.
    """
    if b"__path__" not in text:
        return frozenset()
    asked = {
        ast.unparse(node.value)
        for node in ast.walk(_tree(text))
        if isinstance(node, ast.Attribute) and node.attr == "__path__"
    }
    return frozenset(
        name for name in imports_of(text) for end in asked if f".{name}".endswith(f".{end}")
    )


def _statements(part: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a tree without the expressions in them, which are most of it."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(part, field, ()):
            yield each
            yield from _statements(each)


def _tree(text: bytes) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):  # no Python, or another version's: it imports nothing of ours
        return ast.Module([], [])
