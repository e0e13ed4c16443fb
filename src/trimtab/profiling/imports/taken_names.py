"""Find which names modules take from others, by the text of their sources.

Only import statements and dotted names are read, by patterns: a program of another Python may have
a syntax that this Python cannot parse. A pattern may find too much in a text, such as an example in
a docstring; names that code did not read are told apart by the record.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.untrusted import read_untrusted

STAR = "*"
_MOST_BYTES = 1 << 22  # of a source
_STATEMENT = re.compile(
    r"^[ \t]*((?:from[ \t]+[\w.]+[ \t]+import[ \t]*(?:\([^()]*\)|(?:[^\n\\]|\\\n)+))"
    r"|(?:import[ \t]+(?:[^\n\\]|\\\n)+))",
    re.MULTILINE,
)
_WORD = re.compile(r"[^\W\d]\w*")
_DOTTED = re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.[^\W\d]\w*)+")


@dataclass(frozen=True)
class TakenName:
    """A name that `importer` takes from `module`; `read` tells whether code that ran reads it.

    `name` is empty for the module itself. `alias` is what it is called there: a name, or with dots
    the whole expression.
    """

    module: str
    name: str
    importer: str
    alias: str
    read: bool


@dataclass(frozen=True)
class Source:
    """A module's text, and the names that its code read after its own import."""

    text: str
    package: str
    names_read: Set[str]


def source_of(file: str) -> str:
    """Return the text of a source file; "" for one that cannot be read."""
    if not file.endswith((".py", ".pyw")):
        return ""
    try:
        return read_untrusted(Path(file), _MOST_BYTES).decode(errors="replace")
    except (OSError, TrimtabError, ValueError):
        return ""


def words_besides_imports(text: str) -> set[str]:
    """Return the words of a source that are not in its import statements alone."""
    return set(_WORD.findall(_STATEMENT.sub("", text)))


def taken_names(sources: Mapping[str, Source], modules: Set[str]) -> list[TakenName]:
    """Return the names that `sources`, by module, take from `modules`.

    A name that a module only hands on counts as read if another one reads it from there.
    """
    found = dict.fromkeys(
        taken
        for importer, source in sources.items()
        for taken in _taken_by(importer, source, modules)
    )
    return _handed_on(list(found))


def _taken_by(importer: str, source: Source, modules: Set[str]) -> Iterator[TakenName]:
    aliases: dict[str, str] = {}  # of modules
    for statement in _statements(source.text):
        for part in statement.names:
            name, alias = part.name, part.asname or part.name
            if isinstance(statement, ast.Import):
                module, name = name, ""
                first = module if part.asname else module.partition(".")[0]
                aliases[part.asname or first] = first
            else:
                module = _absolute(statement, source.package)
                if f"{module}.{name}" in modules:
                    module, name = f"{module}.{name}", ""
                    aliases[alias] = module
            if module in modules:
                words = {name} if name in source.names_read else set(alias.split("."))
                yield TakenName(module, name, importer, alias, source.names_read >= words)
    for expression in set(_DOTTED.findall(source.text)) if aliases else ():
        first, *rest = expression.split(".")
        module = aliases.get(first, "")
        while rest and f"{module}.{rest[0]}" in modules:
            module = f"{module}.{rest.pop(0)}"
        if rest and module in modules:
            read = source.names_read >= {first, rest[0]}
            alias = expression.removesuffix("".join(f".{word}" for word in rest[1:]))
            yield TakenName(module, rest[0], importer, alias, read)


def _statements(text: str) -> Iterator[ast.Import | ast.ImportFrom]:
    for match in _STATEMENT.finditer(text):
        try:
            [statement, *_] = ast.parse(match[1]).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement


def _absolute(statement: ast.ImportFrom, package: str) -> str:
    """Return the full name of the module of a `from` statement."""
    if not statement.level:
        return statement.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - statement.level + 1]
    return ".".join([*parts, *([statement.module] if statement.module else [])])


def _handed_on(found: list[TakenName]) -> list[TakenName]:
    by_holder: dict[tuple[str, str], list[int]] = {}
    for place, taken in enumerate(found):
        by_holder.setdefault((taken.importer, taken.alias), []).append(place)
    read = {place for place, taken in enumerate(found) if taken.read}
    waiting = list(read)
    while waiting:
        taken = found[waiting.pop()]
        holders = by_holder.get((taken.module, taken.name)) or by_holder.get((taken.module, STAR))
        for place in set(holders or ()) - read:
            read.add(place)
            waiting.append(place)
    return [replace(taken, read=place in read) for place, taken in enumerate(found)]
