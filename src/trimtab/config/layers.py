"""The YAML files of `conf/` and the overrides, laid over one another by Hydra.

Hydra's own `compose` reads and merges its own configuration of runs and logs each time, which
takes several times as long as ours. So its loader is used here without that: the part of it that
reads the defaults lists and merges the files.
"""

import copy
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from trimtab.config.fields import MistakeError
from trimtab.config.limits import check_values
from trimtab.config.repository import Repository, no_surprise
from trimtab.config.root import RootConfig
from trimtab.config.validate import keys_of, kind_at, nearest, steps_of, unknown_key

# ${target:NAME} is the target NAME for the workload NAME alone: YAML keys take no interpolation.
OmegaConf.register_new_resolver("target", lambda name: {name: [name]}, replace=True)

_ABSENT = object()


@dataclass(frozen=True)
class ConfigLayer:
    """A file that was merged, and the steps of the key that its own keys are inside of."""

    path: Path
    package: tuple[str, ...]


class ConfigLayers:
    """Folders of configurations under `overrides`; every file is read once.

    They are Hydra's search path: `conf` alone, or before the folder `shipped`.
    `merged` are the files of the last composition in their order, later ones laid over earlier
    ones, and `choices` the option of each group. Errors are those of Hydra, OmegaConf and YAML,
    UnreadableFileError, and MistakeError for an override of a key that is not there.
    """

    def __init__(self, conf: Path, overrides: Sequence[str], shipped: Path | None = None) -> None:
        self.conf = conf
        self.folders = [conf]
        if shipped is not None and shipped.resolve() != conf.resolve():
            self.folders.append(shipped)
        self.overrides = list(overrides)
        self.merged: list[ConfigLayer] = []
        self.choices: dict[str, str] = {}
        self._tree = OmegaConf.create()
        Plugins.instance()  # registers the kinds of sources, files among them
        path = ConfigSearchPathImpl()
        for folder in self.folders:
            path.append("main" if folder == conf else "shipped", f"file://{folder.resolve()}")
        path.append("schema", "structured://")
        self._loader = _LayerLoader(path)
        self._files = Repository(self._loader.repository, self.file)

    def file(self, name: str) -> Path:
        """Return the file of `name`, such as `policy/fcfs`, or where it could be in `conf`."""
        paths = [folder / f"{name}.yaml" for folder in self.folders]
        return next((path for path in paths if path.is_file()), paths[0])

    def options_of(self, group: str) -> list[str]:
        """Return the names that a group has in any of the folders, sorted."""
        files = [file for folder in self.folders for file in (folder / group).glob("*.yaml")]
        return sorted({file.stem for file in files})

    def whole(self) -> dict[str, Any]:
        """Return what `config.yaml`, the chosen files and the overrides add up to."""
        with no_surprise(self.conf):
            self._tree = self._composed(self.overrides, group=None)
            return _plain(self._tree)

    def option(self, group: str, name: str) -> dict[str, Any]:
        """Return the group `group` as `whole` would be with `name` for its option.

        Files of other groups are not merged; what `config.yaml`, the experiment and the overrides
        say of this one is. Interpolations see the other groups as `whole` left them.
        """
        with no_surprise(self.conf):
            tree = self._composed([*self.overrides, f"{group}='{name}'"], group)
            chosen = self._tree[group]
            self._tree[group] = tree[group]
            try:
                return _plain(self._tree[group])
            finally:
                self._tree[group] = chosen

    def _composed(self, overrides: list[str], group: str | None) -> DictConfig:
        parsed = OverridesParser.create().parse_overrides(overrides)
        self._loader.validate_sweep_overrides_legal(parsed, RunMode.RUN, from_shell=False)
        resolved = create_defaults_list(
            self._files, "config", parsed, prepend_hydra=False, skip_missing=False
        )
        self.choices = dict(resolved.overrides.known_choices)
        defaults = [
            default
            for default in resolved.defaults
            if group is None or not default.package or default.package.split(".")[0] == group
        ]
        self.merged = [
            ConfigLayer(self.file(str(default.config_path)), tuple(steps_of(default.package or "")))
            for default in defaults
        ]
        tree: DictConfig = self._loader._compose_config_from_defaults_list(defaults, self._files)
        for override in resolved.config_overrides:
            if group is None or steps_of(override.key_or_group)[0] == group:
                _apply(override, tree)
        return tree


class _LayerLoader(ConfigLoaderImpl):  # type: ignore[misc]
    def _load_single_config(self, default: Any, repo: Any) -> Any:
        # Hydra merges into what it is given here, and the file is to be used again.
        return copy.deepcopy(super()._load_single_config(default, repo))


def _plain(tree: DictConfig) -> dict[str, Any]:
    check_values(OmegaConf.to_container(tree, resolve=False))
    return cast(dict[str, Any], OmegaConf.to_container(tree, resolve=True))


def _apply(override: Override, tree: DictConfig) -> None:
    """Apply one `key=value`; a key that no file gives is there if the classes know it."""
    if override.is_add() or override.is_force_add() or override.is_delete() or override.package:
        ConfigLoaderImpl._apply_overrides_to_config([override], tree)
        return
    key, kind = override.key_or_group, RootConfig
    steps = steps_of(key)
    for position, step in enumerate(steps, start=1):
        here = ".".join(steps[:position])
        if dataclasses.is_dataclass(kind):
            if step not in keys_of(kind):
                raise MistakeError(here, unknown_key(step, kind))
        elif OmegaConf.select(tree, here, default=_ABSENT) is _ABSENT:
            beside = OmegaConf.select(tree, ".".join(steps[: position - 1])) or ()
            hint = nearest(step, map(str, beside))
            raise MistakeError(key, f"not there; {hint}add it with +{key}=VALUE")
        kind = kind_at(kind, [step])
    OmegaConf.update(tree, key, override.value(), merge=True, force_add=True)
