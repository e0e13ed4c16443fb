"""Compare versions by the rules of their ecosystem: newer versions get larger keys.

Maintained libraries do this for PyPI and npm; for Debian and Alpine only their package managers do.
"""

import re
from collections.abc import Callable
from typing import Any

from packaging.version import Version
from semver import Version as SemanticVersion

_DEBIAN = re.compile(r"(?:(\d+):)?([0-9A-Za-z.+:~-]+?)(?:-([0-9A-Za-z+.~]+))?", re.ASCII)
_PARTS = re.compile(r"(\D*)(\d*)")
_ALPINE = re.compile(
    r"(\d+(?:\.\d+)*)([a-z]?)((?:_[a-z]+\d*)*)(?:~[0-9a-f]+)?(?:-r(\d+))?", re.ASCII
)
# Before the release itself, and after it.
_SUFFIXES = {"alpha": -4, "beta": -3, "pre": -2, "rc": -1,
             "cvs": 1, "svn": 2, "git": 3, "hg": 4, "p": 5}  # fmt: skip


def compares(ecosystem: str) -> Callable[[str], Any] | None:
    """Return the key function for versions of an ecosystem; None if its rules are not known here.

    `Debian:12` is of the ecosystem Debian. The function raises ValueError for an invalid version.
    """
    return _RULES.get(ecosystem.partition(":")[0])


def _debian(version: str) -> Any:
    """Compare as deb-version(7): text and numbers in turn, `~` before everything, even the end."""
    found = _DEBIAN.fullmatch(version)
    if found is None:
        raise ValueError(f"{version!r}: no version of a Debian package")
    epoch, upstream, revision = found.groups()
    # No revision equals revision 0.
    return int(epoch or 0), _by_turns(upstream), _by_turns(revision or "0")


def _by_turns(text: str) -> list[tuple[tuple[int, ...], int]]:
    # The last match is empty: the end takes part in the comparison.
    return [((*map(_rank, words), 0), int(number or 0)) for words, number in _PARTS.findall(text)]


def _rank(letter: str) -> int:
    if letter == "~":
        return -1
    return ord(letter) if letter.isalpha() else ord(letter) + 256


def _alpine(version: str) -> Any:
    """Compare as apk-package(5) and apk-tools' src/version.c: a leading 0 makes a number small."""
    found = _ALPINE.fullmatch(version)
    if found is None:
        raise ValueError(f"{version!r}: no version of an Alpine package")
    first, *numbers = found[1].split(".")
    suffixes = []
    for suffix in found[3].split("_")[1:]:
        name = suffix.rstrip("0123456789")
        if name not in _SUFFIXES:
            raise ValueError(f"{version!r}: no version of an Alpine package")
        suffixes.append((_SUFFIXES[name], int(suffix[len(name) :] or 0)))
    return (
        [(int(first), 0), *map(_component, numbers)],
        found[2],
        [*suffixes, (0, 0)],
        int(found[4] or 0),
    )


def _component(digits: str) -> tuple[int, int]:
    rest = digits.lstrip("0")
    zeros = len(digits) - len(rest)
    return (-zeros, int(rest or 0)) if zeros else (int(digits), 0)


_RULES: dict[str, Callable[[str], Any]] = {
    "Debian": _debian,
    "Ubuntu": _debian,
    "Alpine": _alpine,
    "PyPI": Version,
    "npm": SemanticVersion.parse,
}
