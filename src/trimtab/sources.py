"""Which source files a program depends on, so that a change of code reruns just what it touches."""

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

_SOURCES = Path(__file__).resolve().parents[1]
_OURS = {"trimtab", "trimtab_trial"}  # beside which others lie where trimtab is installed
# Where statements have others: `cases` of `match`, `handlers` of `try`.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_WORD = re.compile(rb"\bimport\b")
_IMPORT = re.compile(
    rb"(?<!\\\n)^[ \t]*(import\b[^\n\\;]*$"
    rb"|from[^\n\\;(]*\bimport\b(?:[^\n\\;(]*|[ \t]*\([^()]*\))$)",
    re.M,
)


def sources_of(entries: Iterable[Path], source: Path = _SOURCES) -> list[Path]:
    """Return the Python files `entries` and every module under `source` they import, sorted.

    That includes the modules of a package that one of them searches. Imports are read from the
    text, nothing is run. The configuration's own modules are left out: what they say reaches a
    stage as its parameters, and rewording a key's meaning is no reason to measure again.
    """
    found: set[Path] = set()
    waiting = [path.resolve() for path in entries]
    while waiting:
        path = waiting.pop()
        if path in found or path.is_relative_to(source / "trimtab" / "config"):
            continue
        found.add(path)
        facts = path.stat()
        waiting += _leads_to(path, source, facts.st_mtime_ns, facts.st_size)
    return sorted(found)


@cache
def _leads_to(path: Path, source: Path, mtime_ns: int, size_bytes: int) -> frozenset[Path]:
    """The modules under `source` that a file imports or searches, by the file as it is now.

    A workflow asks for those of the same modules once a rule.
    """
    text = path.read_bytes()
    ours_alone = source.resolve() == _SOURCES
    names = imports_of(text)
    if ours_alone:
        names = frozenset(name for name in names if name.partition(".")[0] in _OURS)
    found = {module for name in names for module in _modules(source, name)}
    for name in searched_by(text):
        found.update(source.joinpath(*name.split(".")).rglob("*.py"))
    return frozenset(found)


@cache
def _modules(source: Path, name: str) -> tuple[Path, ...]:
    place = source.joinpath(*name.split("."))
    candidates = (place.with_suffix(".py"), place / "__init__.py")
    return tuple(candidate for candidate in candidates if candidate.is_file())


@cache
def imports_of(text: bytes) -> frozenset[str]:
    """Return every module that a file may import, also inside functions, by its full name.

    Of `from a import b` both a and a.b are named, as b may be a module.
    """
    names: set[str] = set()
    for node in _imports(text):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


@cache
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


def _imports(text: bytes) -> Iterable[ast.AST]:
    """Every import of a file.

    Parsing a whole file takes ten times as long as its imports alone. These are enough where each
    has lines of its own and the word is nowhere else: not in a comment, not in a text.
    """
    lines = _IMPORT.findall(text)
    if len(lines) == len(_WORD.findall(text)):
        with suppress(SyntaxError, ValueError):
            return ast.parse(b"\n".join(lines)).body
    return _statements(_tree(text))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement below a node; no import is inside of an expression."""
    for field in _BLOCKS:
        for below in getattr(node, field, ()):
            yield below
            yield from _statements(below)


def _tree(text: bytes) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):  # no Python, or another version's: it imports nothing of ours
        return ast.Module([], [])
