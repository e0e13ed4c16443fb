"""The configurations that a command reads: those here, before trimtab's own."""

from collections.abc import Sequence
from pathlib import Path

from trimtab.config import Configurations
from trimtab.places import CONF

_OURS = ("workload", "hardware", "tuner", "policy", "experiment")


def configurations(conf: Path | None, overrides: Sequence[str] = ()) -> Configurations:
    """Return those of the folder `conf`, by default of `conf` here, before trimtab's own.

    A folder of that name without any of our groups is somebody else's, and not looked at.
    """
    folder = Path("conf") if conf is None else conf
    is_ours = any((folder / group).is_dir() for group in _OURS)
    return Configurations(folder if is_ours or conf is not None else CONF, overrides, CONF)
