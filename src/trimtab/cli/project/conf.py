"""The configurations of a command: the current folder's, before trimtab's own."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.places import CONF

if TYPE_CHECKING:
    from trimtab.config import Configurations

_OURS = ("workload", "hardware", "tuner", "policy", "experiment")


def configurations(
    conf: Path | None, overrides: Sequence[str] = (), to_run: bool = False
) -> "Configurations":
    """Return the configurations of `conf`, by default ./conf, before trimtab's own.

    A folder of that name without any of our groups is ignored. Whether what an experiment names
    fits is checked only if it is `to_run`.
    """
    from trimtab.config import Configurations

    folder = Path("conf") if conf is None else conf
    is_ours = any((folder / group).is_dir() for group in _OURS)
    return Configurations(folder if is_ours or conf is not None else CONF, overrides, CONF, to_run)
