"""The stages of an experiment: those that have a module in `trimtab.workflow.stages`."""

import importlib
import pkgutil
from collections.abc import Iterable
from typing import Any

from trimtab.config import Configurations
from trimtab.workflow import stages
from trimtab.workflow.stage import Stage


def find_stages(config: Configurations) -> dict[str, Any]:
    """Return the Stage of each module, by the module's name."""
    found = {}
    for name in sorted(module.name for module in pkgutil.iter_modules(stages.__path__)):
        module = importlib.import_module(f"{stages.__name__}.{name}")
        for kind in vars(module).values():
            is_own = isinstance(kind, type) and kind.__module__ == module.__name__
            if is_own and issubclass(kind, Stage):
                found[name] = kind(config)
    return found


def options_of(found: Iterable[Stage], config: Configurations, whole: bool) -> dict[str, Any]:
    """Return what the configuration says of the `options` of stages, by group, each once."""
    names: dict[str, dict[str, None]] = {}
    for stage in found:
        for group, options in stage.options(whole).items():
            names.setdefault(group, {}).update(dict.fromkeys(options))
    return {group: config.options(group, options) for group, options in names.items()}
