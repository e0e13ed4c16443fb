"""Find the source files that a program depends on, so a code change reruns only what it affects."""

import ast
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_SOURCES = Path(__file__).resolve().parents[1]
_OURS = {"trimtab", "trimtab_trial"}  # other modules are beside them in an installation
_IMPORT = re.compile(rb"\bimport\b")
_IMPORT_LINE = re.compile(
    rb"(?<!\\\n)^[ \t]*(?:import[ \t]+(?P<modules>[\w., \t]+)"
    rb"|from[ \t]+(?P<module>\w[\w.]*)[ \t]+import[ \t]*"
    rb"(?:\((?P<several>[\w\s,]+)\)|(?P<names>[\w, \t]+|\*)))[ \t]*(?:#.*)?$",
    re.MULTILINE,
)


def sources_of(entries: Iterable[Path], source: Path = _SOURCES) -> list[Path]:
    """Return the Python files `entries` and every module under `source` they import, sorted.

    That includes the modules of a package that one of them searches. Imports are parsed, nothing is
    run. The configuration's own modules are left out: their values reach a stage as its parameters,
    and a new description of a key is no reason to measure again.
    """
    # Strings instead of paths: there are tens of thousands, and rules ask repeatedly.
    found: set[str] = set()
    configuration = f"{source}/trimtab/config/"
    waiting = [str(path.resolve()) for path in entries]
    while waiting:
        path = waiting.pop()
        if path in found or path.startswith(configuration):
            continue
        found.add(path)
        status = os.stat(path)  # noqa: PTH116
        waiting += _used_by(path, source, (status.st_ctime_ns, status.st_size))
    return sorted(map(Path, found))


@cache
def _used_by(path: str, source: Path, version: tuple[int, int]) -> frozenset[str]:
    """Return the modules under `source` that a `version` of the file imports or searches.

    Modules that are created later are found by the next process.
    """
    ours_alone = source.resolve() == _SOURCES
    text = Path(path).read_bytes()
    used = set[str]()
    for name in imports_of(text):
        if ours_alone and name.partition(".")[0] not in _OURS:
            continue
        place = f"{source}/{name.replace('.', '/')}"
        candidates = (f"{place}.py", f"{place}/__init__.py")
        used.update(each for each in candidates if os.path.isfile(each))  # noqa: PTH113
    for name in searched_by(text):
        used.update(map(str, source.joinpath(*name.split(".")).rglob("*.py")))
    return frozenset(used)


def imports_of(text: bytes) -> frozenset[str]:
    """Return the full names of all modules that a file may import, even inside functions.

    For `from a import b` both a and a.b are returned, as b may be a module.
    """
    lines = list(_IMPORT_LINE.finditer(text))
    # Parsing takes ten times as long. It is for imports beside others on a line, and in strings.
    if len(lines) != len(_IMPORT.findall(text)) or any(
        text.count(quotes, 0, line.start()) % 2 for line in lines for quotes in (b'"""', b"'''")
    ):
        return _parsed_imports(text)
    names: set[str] = set()
    for line in lines:
        listed = (line["modules"] or line["several"] or line["names"]).decode().split(",")
        named = [words[0] for each in listed if (words := each.split())]
        if line["module"]:
            module = line["module"].decode()
            named = [module, *(f"{module}.{name}" for name in named)]
        names.update(named)
    return frozenset(names)


def _parsed_imports(text: bytes) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def searched_by(text: bytes) -> frozenset[str]:
    """Return the packages whose `__path__` a file uses, to find their modules.

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


def _tree(text: bytes) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):  # not Python, or of another version: no imports of ours
        return ast.Module([], [])
