"""The files of `conf/`, as Hydra asks for them: a source of configurations (ConfigSource).

Hydra and OmegaConf were written for files that their owner means well: what they do not expect
ends in an assertion, or in an error that names no file. So a file's layout is looked at first.
"""

import copy
import io
import itertools
import re
import reprlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import yaml
from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import GrammarParseError, OmegaConfBaseException

from trimtab.config.fields import MistakeError
from trimtab.config.limits import UnreadableFileError, values_of, yaml_text
from trimtab.config.root import OF_STAGES

ESCAPED = "write \\${ for a dollar sign and a brace"
# What the libraries raise for a mistake of the user's.
MISTAKES = (HydraException, OmegaConfBaseException, yaml.YAMLError, UnreadableFileError)
_HEADER_CHARS = 512  # of a file may be its header
_HEADER = re.compile(r"#\s*@")
_PACKAGE = re.compile(r"#\s*@package\s+\w+(\.\w+)*")
_DEFAULT_NAME = re.compile(r"[-\w/.@ ${}:]{0,100}\w[-\w/.@ ${}:]{0,100}")
_DEFAULT = "expected NAME or GROUP: NAME"


@dataclass(frozen=True)
class _File:
    content: DictConfig  # without its list of defaults
    defaults: dict[str, Any]  # that list, under its key, if there is one
    head: str


class Repository:
    """The files of a configuration in `folders`, earlier ones first, each read once.

    Raises one of MISTAKES for a file that is none of a configuration.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._read: dict[Path, _File] = {}
        self._number = str(next(_NUMBERS))
        _OPEN[self._number] = self

    def loader(self) -> ConfigLoader:
        """Return Hydra's loader of these files, without Hydra's configuration of its own."""
        Plugins.instance().register(_Source)
        Plugins.instance().register(_SearchPath)
        _SearchPath.first = f"{_Source.scheme()}://{self._number}"
        try:
            folder = str(self._folders[0].resolve())
            with initialize_config_dir(folder, version_base=None):
                return GlobalHydra.instance().config_loader()
        finally:
            _SearchPath.first = None
            for resolver in ("hydra", "now", "python_version"):  # none of ours
                OmegaConf.clear_resolver(resolver)

    def file(self, name: str) -> Path:
        """Return the file of `name`, such as `policy/fcfs`, or where it could be in the first."""
        paths = [folder / f"{name.removesuffix('.yaml')}.yaml" for folder in self._folders]
        return next((path for path in paths if path.is_file()), paths[0])

    def is_group(self, name: str) -> bool:
        """Whether a folder has files of a group."""
        return any((folder / name).is_dir() for folder in self._folders)

    def options_of(self, group: str) -> list[str]:
        """Return the names that a group has in any of the folders, sorted."""
        files = [file for folder in self._folders for file in (folder / group).glob("*.yaml")]
        return sorted({file.stem for file in files})

    def stands_alone(self, name: str) -> bool:
        """Whether there is a file of this name, without a list of defaults or a header."""
        if not self.file(name).is_file():
            return False
        file = self._whole(name)
        return not file.defaults and not _HEADER.search(file.head)

    def interpolates_defaults(self, name: str) -> bool:
        """Whether what a file is built on hangs on what else is chosen."""
        return not name.startswith("hydra/") and "${" in str(self._whole(name).defaults)

    def content(self, name: str) -> DictConfig:
        """Return what a file says, without its list of defaults; it may be changed."""
        return copy.deepcopy(self._whole(name).content)

    def defaults(self, name: str) -> tuple[DictConfig, str]:
        """Return the list of defaults of a file, under its key, if there is one, and its head.

        Of a group of a single stage that `config` does not choose from the first option is chosen.
        """
        file = self._whole(name)
        defaults = file.defaults
        if name == "config":
            given = defaults.get("defaults") or []
            keys = [key for default in given if isinstance(default, dict) for key in default]
            missing = sorted(OF_STAGES.keys() - {key.split()[-1] for key in keys})
            first = {group: self.options_of(group)[:1] for group in missing}
            more = [{group: option} for group, options in first.items() for option in options]
            defaults = {"defaults": [*more, *given]}
        return OmegaConf.create(defaults), file.head

    def _whole(self, name: str) -> _File:
        path = self.file(name)
        if path not in self._read:
            self._read[path] = _parsed(path, yaml_text(path))
        return self._read[path]


@lru_cache(maxsize=1024)  # of all repositories of this process; contents are copied
def _parsed(path: Path, text: str) -> _File:
    check_layout(path, text)
    stream = io.StringIO(text)
    stream.name = str(path)  # which errors tell
    with no_surprise(path):
        try:
            content: Any = OmegaConf.create(OmegaConf.load(stream))
        except GrammarParseError as error:
            problem = f"{error.full_key}: {str(error).splitlines()[0]}; {ESCAPED}"
            raise UnreadableFileError(f"{path}: {problem}") from None
        only = OmegaConf.masked_copy(content, ["defaults"])
        defaults: Any = OmegaConf.to_container(only, resolve=False)
        content.pop("defaults", None)
    return _File(content, defaults, text[:_HEADER_CHARS])


_NUMBERS = itertools.count()
_OPEN: WeakValueDictionary[str, Repository] = WeakValueDictionary()  # by number
_OF_HYDRA = "hydra/config"  # what Hydra reads of itself, of which nothing is used


class _Source(ConfigSource):  # type: ignore[misc]
    """What Hydra resolves lists of defaults by: these lists, and the headers, of each file."""

    @property
    def _files(self) -> Repository:
        return _OPEN[self.path]  # not held: Hydra copies its sources for each composition

    @staticmethod
    def scheme() -> str:
        return "trimtab"

    def load_config(self, config_path: str) -> ConfigResult:
        if config_path == _OF_HYDRA:
            header, defaults = {"package": None}, OmegaConf.create()
        else:
            defaults, head = self._files.defaults(config_path)
            header = self._get_header_dict(head)
        return ConfigResult(self.provider, self.full_path(), defaults, header)

    def is_group(self, config_path: str) -> bool:
        return self._files.is_group(config_path)

    def is_config(self, config_path: str) -> bool:
        return config_path == _OF_HYDRA or self._files.file(config_path).is_file()

    def available(self) -> bool:
        return True

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        wants_groups = results_filter == ObjectType.GROUP
        return [] if wants_groups else self._files.options_of(config_path)


class _SearchPath(SearchPathPlugin):  # type: ignore[misc]
    """Has Hydra look into the source that is `first` before all others."""

    first: ClassVar[str | None] = None

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if self.first is not None:
            search_path.prepend("trimtab", self.first)


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


def check_layout(path: Path, text: str) -> None:
    """Raise one of MISTAKES unless the file has keys with values, a list of defaults if any, and
    headers that are one (`# @package NAME`)."""
    given = values_of(path, text)
    if problem := _header_problem(text) or _problem(given):
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


def _header_problem(text: str) -> str:
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if line and not _HEADER.match(line):
            break
        if line and not _PACKAGE.fullmatch(line):
            return f", line {number}: {line!r} given, expected # @package NAME"
    return ""
