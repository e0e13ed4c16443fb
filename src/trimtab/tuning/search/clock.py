"""How long a search has been going on, over all processes that search, killed ones included."""

import math
import time
from pathlib import Path

from trimtab.files import parse_json, read_limited, write_json

KEPT_EVERY_S = 5.0  # at least: so much of a killed search is lost at most
_SELDOM_S = 1.0
_MOST_BYTES = 1000


class SearchClock:
    """The seconds of a search, kept at `path` for the next process; at least `began_s` are over."""

    def __init__(self, path: Path, began_s: float = 0.0) -> None:
        self._path = path
        self._began_at = time.monotonic() - max(began_s, _kept_s(path))
        self._kept_at = -math.inf

    def now_s(self) -> float:
        """Return the seconds since the search began, those between its processes left out."""
        return time.monotonic() - self._began_at

    def keep(self) -> None:
        """Keep the time, unless that was done a moment ago."""
        now = time.monotonic()
        if now - self._kept_at >= _SELDOM_S:
            write_json(self._path, {"searched_s": self.now_s()})
            self._kept_at = now


def _kept_s(path: Path) -> float:
    try:
        found = float(parse_json(read_limited(path, _MOST_BYTES))["searched_s"])
    except (OSError, ValueError, TypeError, KeyError):  # not there, or damaged: rows say enough
        return 0.0
    return found if 0 <= found < math.inf else 0.0
