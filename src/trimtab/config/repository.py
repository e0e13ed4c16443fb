"""The files of `conf/`, as Hydra's loader asks for them.

Hydra and OmegaConf were written for files that their owner means well: what they do not expect
ends in an assertion, or in an error that names no file. So a file's layout is looked at first.
"""

import re
import reprlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from hydra._internal.config_repository import CachingConfigRepository
from hydra.errors import HydraException
from omegaconf.errors import GrammarParseError, OmegaConfBaseException

from trimtab.config.fields import MistakeError
from trimtab.config.limits import UnreadableFileError, yaml_values

ESCAPED = "write \\${ for a dollar sign and a brace"
# What the libraries raise for a mistake of the user's.
MISTAKES = (HydraException, OmegaConfBaseException, yaml.YAMLError, UnreadableFileError)
_HEADER = re.compile(r"#\s*@")
_PACKAGE = re.compile(r"#\s*@package\s+\w+(\.\w+)*")
_DEFAULT_NAME = re.compile(r"[-\w/.@ ${}:]{0,100}\w[-\w/.@ ${}:]{0,100}")
_DEFAULT = "expected NAME or GROUP: NAME"


class Repository(CachingConfigRepository):  # type: ignore[misc]
    """The files of a configuration, each read and checked once; `file` says where one lies.

    Raises one of MISTAKES for a file that is none of a configuration.
    """

    def __init__(self, delegate: Any, file: Callable[[str], Path]) -> None:
        super().__init__(delegate)
        self._file = file
        self._checked: set[Path] = set()

    def load_config(self, config_path: str) -> Any:
        """Return Hydra's result for the file `config_path`, which has no suffix."""
        path = self._file(config_path)
        if path not in self._checked and path.exists():
            check_layout(path)
            self._checked.add(path)
        with no_surprise(path):
            try:
                return super().load_config(config_path)
            except GrammarParseError as error:
                problem = f"{error.full_key}: {str(error).splitlines()[0]}; {ESCAPED}"
                raise UnreadableFileError(f"{path}: {problem}") from None


@contextmanager
def no_surprise(path: Path) -> Iterator[None]:
    """Raise UnreadableFileError, which names `path`, for what the libraries did not expect.

    Mistakes that they know, and nesting that is too deep, stay as they are.
    """
    try:
        yield
    except (*MISTAKES, MistakeError, RecursionError):
        raise
    except Exception as error:
        problem = f"not understood by Hydra: {type(error).__name__}"
        said = "".join(str(error).splitlines()[:1])
        raise UnreadableFileError(f"{path}: {problem}{said and ': '}{said}") from error


def check_layout(path: Path) -> None:
    """Raise one of MISTAKES unless the file has keys with values, a list of defaults if any, and
    headers that are one (`# @package NAME`)."""
    given = yaml_values(path)
    if problem := _header_problem(path) or _problem(given):
        raise UnreadableFileError(f"{path}{problem}")


def _problem(given: Any) -> str:
    if given is None:
        return ""
    if not isinstance(given, dict):
        kind = "list" if isinstance(given, list) else "value alone"
        return f": expected keys with values, not a {kind}"
    for key in given:
        if isinstance(key, str) and not key.strip("."):
            return f": the key {key[:9]!r} given, expected a name"
    return _keys_problem(given) or _defaults_problem(given.get("defaults", []))


def _keys_problem(value: Any, place: str = "") -> str:
    if isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str) or not key.isprintable():
                return f": {place}the key {reprlib.repr(key)} given, expected a text on one line"
            if problem := _keys_problem(part, f"{place}{key}: "):
                return problem
    elif isinstance(value, list):
        for part in value:
            if problem := _keys_problem(part, place):
                return problem
    return ""


def _defaults_problem(defaults: Any) -> str:
    if not isinstance(defaults, list):
        return f": defaults: {reprlib.repr(defaults)} given, expected a list"
    for number, default in enumerate(defaults):
        if isinstance(default, dict) and len(default) == 1:
            [(group, options)] = default.items()
            names = options if isinstance(options, list) else [options]
            names = [group, *(names if options is not None else [])]
        else:
            names = [default]
        if not all(isinstance(name, str) and _DEFAULT_NAME.fullmatch(name) for name in names):
            return f": defaults[{number}]: {reprlib.repr(default)} given, {_DEFAULT}"
    return ""


def _header_problem(path: Path) -> str:
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        line = line.strip()
        if line and not _HEADER.match(line):
            break
        if line and not _PACKAGE.fullmatch(line):
            return f", line {number}: {line!r} given, expected # @package NAME"
    return ""
