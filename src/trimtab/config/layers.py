"""The YAML files of `conf/` and the overrides, laid over one another by Hydra's rules.

Hydra's own `compose` reads and merges its own configuration of runs and logs each time, which
takes several times as long as ours. So Hydra resolves the lists of defaults here, and OmegaConf
merges the files in that order.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, ValueType
from hydra.errors import ConfigCompositionException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, flag_override
from omegaconf.errors import OmegaConfBaseException

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
    ones, and `choices` the option of each group in `whole`. Errors are those of Hydra, OmegaConf
    and YAML, UnreadableFileError, and MistakeError for an override of a key that is not there.
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
        self._defaults: list[Any] = []  # of the whole, in the order of merging
        self._overridden: list[Override] = []  # keys
        self._files = Repository(self.folders)
        self._loader = self._files.loader()

    def file(self, name: str) -> Path:
        """Return the file of `name`, such as `policy/fcfs`, or where it could be in `conf`."""
        return self._files.file(name)

    def options_of(self, group: str) -> list[str]:
        """Return the names that a group has in any of the folders, sorted."""
        return self._files.options_of(group)

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
            defaults = self._with_option(group, name)
            if defaults is None:
                tree = self._composed([*self.overrides, f"{group}='{name}'"], group)
            else:
                tree = self._merged(defaults, self._overridden, group)
            chosen = self._tree[group]
            self._tree[group] = tree[group]
            try:
                return _plain(self._tree[group])
            finally:
                self._tree[group] = chosen

    def _composed(self, overrides: list[str], group: str | None) -> DictConfig:
        for override in OverridesParser.create().parse_overrides(overrides):
            _check_is_no_sweep(override)
        resolved = self._loader.compute_defaults_list("config", overrides, RunMode.RUN)
        if group is None:
            self.choices = dict(resolved.overrides.known_choices)
            self._defaults, self._overridden = resolved.defaults, resolved.config_overrides
        return self._merged(resolved.defaults, resolved.config_overrides, group)

    def _with_option(self, group: str, name: str) -> list[Any] | None:
        """Return the files of the whole with this option for the chosen one; None: ask Hydra.

        Hydra resolves all lists again, though an option without such a list changes nothing else.
        """
        chosen, new = (f"{group}/{option}" for option in (self.choices.get(group), name))
        at = [i for i, each in enumerate(self._defaults) if each.package == group]
        if len(at) != 1 or self._defaults[at[0]].config_path != chosen:
            return None
        if not all(map(self._files.stands_alone, (chosen, new))):
            return None
        names = {"config", *(str(each.config_path) for each in self._defaults)}
        if any(self._files.interpolates_defaults(each) for each in names):
            return None
        defaults = list(self._defaults)
        defaults[at[0]] = dataclasses.replace(defaults[at[0]], config_path=new)
        return defaults

    def _merged(
        self, resolved: Sequence[Any], overridden: Sequence[Override], group: str | None
    ) -> DictConfig:
        defaults = [
            default
            for default in resolved
            if (group is None or not default.package or default.package.split(".")[0] == group)
            and not str(default.config_path).startswith("hydra/")
        ]
        self.merged = [
            ConfigLayer(self.file(str(default.config_path)), tuple(steps_of(default.package or "")))
            for default in defaults
        ]
        tree = OmegaConf.create()
        with flag_override(tree, "no_deepcopy_set_nodes", True):
            for default in defaults:
                content = self._files.content(default.config_path)
                if default.package:
                    inner, content = content, OmegaConf.create()
                    OmegaConf.update(content, default.package, inner, merge=False)
                try:
                    tree.merge_with(content)
                except OmegaConfBaseException as error:
                    raise ConfigCompositionException(
                        f"In '{default.config_path}': {type(error).__name__} raised while composing"
                        f" config:\n{error}"
                    ) from error
        for override in overridden:
            if group is None or steps_of(override.key_or_group)[0] == group:
                _apply(override, tree)
        return tree


def _plain(tree: DictConfig) -> dict[str, Any]:
    check_values(OmegaConf.to_container(tree, resolve=False))
    return cast(dict[str, Any], OmegaConf.to_container(tree, resolve=True))


def _apply(override: Override, tree: DictConfig) -> None:
    """Apply one `key=value`; a key that no file gives is there if the classes know it."""
    if override.package is not None:
        raise ConfigCompositionException(
            f"Override {override.input_line} looks like a config group override, but config group"
            f" '{override.key_or_group}' does not exist."
        )
    if override.is_add() or override.is_force_add() or override.is_delete():
        try:
            _add_or_delete(override, tree)
        except OmegaConfBaseException as error:
            raise ConfigCompositionException(
                f"Error merging override {override.input_line}"
            ) from error
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


def _add_or_delete(override: Override, tree: DictConfig) -> None:
    """Apply one `+key=value`, `++key=value` or `~key`, as Hydra does."""
    key, value = override.key_or_group, override.value()
    if override.is_force_add():
        OmegaConf.update(tree, key, value, merge=True, force_add=True)
        return
    there = OmegaConf.select(tree, key, throw_on_missing=False)
    if override.is_add():
        if there is not None and not isinstance(value, dict | list):
            raise ConfigCompositionException(
                f"Could not append to config. An item is already at '{key}'.\n"
                f"Either remove + prefix: '{override.input_line[1:]}'\n"
                f"Or add a second + to add or override '{key}': '+{override.input_line}'\n"
            )
        OmegaConf.update(tree, key, value, merge=True, force_add=True)
        return
    if there is None:
        raise ConfigCompositionException(f"Could not delete from config. '{key}' does not exist.")
    if value is not None and value != there:
        raise ConfigCompositionException(
            f"Could not delete from config. The value of '{key}' is {there} and not {value}."
        )
    holder, _, name = key.rpartition(".")
    node = OmegaConf.select(tree, holder) if holder else tree
    del node[name]


def _check_is_no_sweep(override: Override) -> None:
    """Raise as Hydra does for an override that stands for several."""
    if not override.is_sweep_override():
        return
    if override.value_type == ValueType.SIMPLE_CHOICE_SWEEP:
        raise ConfigCompositionException(
            f"Ambiguous value for argument '{override.input_line}'\n"
            "1. To use it as a list, use key=[value1,value2]\n"
            "2. To use it as string, quote the value: key='value1,value2'\n"
            "3. To sweep over it, add --multirun to your command line"
        )
    raise ConfigCompositionException(
        f"Sweep parameters '{override.input_line}' requires --multirun"
    )
