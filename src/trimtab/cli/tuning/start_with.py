"""The file of `trimtab tune --start-with`: configurations that a search tries first."""

from pathlib import Path
from typing import Any

import yaml

from trimtab.cli.tuning.program import full_name
from trimtab.config.groups.tuning import Tuning
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.files import read_limited

_MOST_BYTES = 1 << 20


def configurations_in(path: Path, workload: Workload) -> tuple[dict[str, Any], ...]:
    """Return the configurations in a YAML, by full names.

    It has a mapping of parameters, a list of such, or a best.yaml, whose other parameters are
    ignored. Raises UserError for another file, an unknown parameter, or a value that it cannot
    have.
    """
    try:
        found = yaml.safe_load(read_limited(path, _MOST_BYTES))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"--start-with {path}: {' '.join(str(error).split())}") from None
    tuning = workload.tuning
    assert tuning is not None
    if isinstance(found, dict) and isinstance(found.get("parameters"), dict):
        of_result = found["parameters"]
        known = {name.partition(".")[2] for name in tuning.parameters}
        found = {name: value for name, value in of_result.items() if name in known}
    configurations = found if isinstance(found, list) else [found]
    if not configurations or not all(isinstance(one, dict) and one for one in configurations):
        raise UserError(
            f"--start-with {path}: expected parameters with values, as `learning_rate: 0.1`, or a"
            " list of such"
        )
    return tuple(
        dict(_checked(path, tuning, str(name), value) for name, value in one.items())
        for one in configurations
    )


def _checked(path: Path, tuning: Tuning, name: str, value: Any) -> tuple[str, Any]:
    """Return a parameter's full name, and its value."""
    parameters = tuning.parameters
    full = full_name(name, parameters, f"--start-with {path}")
    if not parameters[full].takes(value):
        raise UserError(
            f"--start-with {path}: {name}: {value!r} given, expected"
            f" {parameters[full].format_values}"
        )
    return full, value
