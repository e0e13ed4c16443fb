"""What a YAML file of the configuration may hold: refused is what grows, runs or never ends.

A short file can say much: aliases of aliases, interpolations of interpolations, tags that make
objects. None of it is needed, so it is looked for before anything is made of the file.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from trimtab.config.fields import MistakeError
from trimtab.errors import TrimtabError
from trimtab.files import read_limited

MOST_BYTES = 1 << 18  # the longest file of conf/ has 10 kB
_MOST_NODES = 20_000
_MOST_DEPTH = 32
_MOST_CHARACTERS = 1 << 20  # of a whole configuration, interpolations filled in
_LARGEST = (1 << 63) - 1
_REFERENCE = re.compile(r"(?<!\\)(?:\\\\)*\$\{([^{}]*)\}")
_RESOLVERS = ("target", "oc.env", "oc.decode")


class UnreadableFileError(Exception):
    """A file of the configuration that cannot be read at all."""


class _NoDatesLoader(yaml.SafeLoader):
    """Without dates, as OmegaConf's: a title may be 2026-02-30."""


_NoDatesLoader.yaml_implicit_resolvers = {
    first: [resolver for resolver in resolvers if not resolver[0].endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def yaml_values(path: Path, most_bytes: int = MOST_BYTES, most_nodes: int = _MOST_NODES) -> Any:
    """Return what the YAML file at `path` says; its nodes are counted before anything is made of
    them, aliases by what they stand for.

    Raises UnreadableFileError for what is no file, not UTF-8, too large, too deep, has tags or an
    alias of itself, FileNotFoundError without a file, and yaml.YAMLError for what is no YAML.
    """
    return values_of(path, yaml_text(path, most_bytes), most_nodes)


def yaml_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Return the text of the file at `path`; raises as `yaml_values` does for what is no text."""
    try:
        return read_limited(path, most_bytes).decode()
    except TrimtabError as error:
        raise UnreadableFileError(str(error)) from None
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 text: {error.reason} at byte {error.start}"
        raise UnreadableFileError(f"{path}: {problem}") from None


def values_of(path: Path, text: str, most_nodes: int = _MOST_NODES) -> Any:
    """Return what `text`, that of the YAML file at `path`, says; raises as `yaml_values` does."""
    try:
        problem = _problem_in(text, most_nodes)
    except yaml.reader.ReaderError as error:
        problem = f"character {error.position + 1}: a control character"
    if problem:
        raise UnreadableFileError(f"{path}, {problem}")
    loader = _NoDatesLoader(text)
    loader.name = str(path)  # which its errors tell
    try:
        return loader.get_single_data()
    except ValueError as error:  # of PyYAML, for a number like 0b_
        raise UnreadableFileError(f"{path}: {error}") from None
    finally:
        loader.dispose()


def _problem_in(text: str, most_nodes: int) -> str:
    """Return the line and what is wrong there, or an empty text."""
    sizes: dict[str, int] = {}  # nodes that an anchor stands for, itself among them
    open_nodes: list[tuple[str | None, int]] = []
    total = 0
    for event in _events(text):
        line = f"line {event.start_mark.line + 1}"
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = total - before
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                return f"{line}: *{event.anchor} stands for itself, or for nothing before it"
            total += sizes[event.anchor]
        else:
            total += 1
            tag = getattr(event, "tag", None)
            if tag is not None:
                return f"{line}: the tag {tag}: tags are not taken"
        if total > most_nodes:
            return f"{line}: more than {most_nodes:,} values, aliases filled in"
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, total - 1))
            if len(open_nodes) > _MOST_DEPTH:
                return f"{line}: more than {_MOST_DEPTH} levels deep"
        elif isinstance(event, yaml.ScalarEvent) and event.anchor is not None:
            sizes[event.anchor] = 1
    return ""


def _events(text: str) -> Iterator[Any]:
    parser = yaml.parse(text, Loader=yaml.SafeLoader)  # its marks are those of the other errors
    try:
        yield from parser
    except yaml.reader.ReaderError:
        raise
    except yaml.YAMLError:
        return  # whoever reads the file for its values says so


def check_values(tree: Any) -> None:
    """Check the plain values of a configuration, interpolations not filled in yet.

    Raises MistakeError with the full key of a number that is not finite or has more than 64 bits,
    of an interpolation inside another, by an unknown resolver or of itself, and of one that makes
    the whole too long.
    """
    _Growth(tree).of("", tree)


class _Growth:
    """How many characters parts of a configuration have when interpolations are filled in."""

    def __init__(self, tree: Any) -> None:
        self._tree = tree
        self._known: dict[str, int | None] = {}  # None while it is being counted

    def of(self, key: str, value: Any) -> int:
        if key in self._known:
            known = self._known[key]
            if known is None:
                raise MistakeError(key, "an interpolation that leads back to itself")
            return known
        self._known[key] = None
        if isinstance(value, dict):
            size = sum(self.of(f"{key}.{name}".lstrip("."), part) for name, part in value.items())
        elif isinstance(value, list):
            size = sum(self.of(f"{key}[{at}]", part) for at, part in enumerate(value))
        else:
            size = self._of_scalar(key, value)
        if size > _MOST_CHARACTERS:
            raise MistakeError(key, f"more than {_MOST_CHARACTERS:,} characters when filled in")
        self._known[key] = size
        return size

    def _of_scalar(self, key: str, value: Any) -> int:
        if isinstance(value, float) and not math.isfinite(value):
            raise MistakeError(key, f"{value!r} given, expected a finite number")
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise MistakeError(key, "expected a number of at most 64 bits")
        if not isinstance(value, str):
            return 1
        size = 1 + len(value)
        while named := _REFERENCE.findall(value):  # the inner ones first
            size += sum(self._of_reference(key, name) for name in named)
            value = _REFERENCE.sub("\0", value)
        return size

    def _of_reference(self, key: str, name: str) -> int:
        resolver, colon, _ = name.partition(":")
        if colon:
            if resolver not in _RESOLVERS:
                expected = f"expected one of {', '.join(_RESOLVERS)}"
                raise MistakeError(key, f"the resolver {resolver!r} given, {expected}")
            return len(name)
        if "\0" in name:
            raise MistakeError(key, "a key named by an interpolation")
        steps = _steps(name)
        if name.startswith("."):
            levels = len(name) - len(name.lstrip("."))
            steps = _steps(key)[:-levels] + steps
        place: Any = self._tree
        for step in steps:
            if isinstance(place, dict):
                place = next((part for at, part in place.items() if str(at) == step), None)
            elif isinstance(place, list) and step.isdecimal() and int(step) < len(place):
                place = place[int(step)]
            else:
                return 0  # not there, or behind another interpolation: it is said when filled in
        return self.of(_key(self._tree, steps), place)


def _steps(key: str) -> list[str]:
    return re.findall(r"[^.\[\]]+", key)


def _key(tree: Any, steps: list[str]) -> str:
    key, place = "", tree
    for step in steps:
        if isinstance(place, list):
            key, place = f"{key}[{step}]", place[int(step)]
        else:
            key = f"{key}.{step}".lstrip(".")
            place = next((part for at, part in place.items() if str(at) == step), None)
    return key
