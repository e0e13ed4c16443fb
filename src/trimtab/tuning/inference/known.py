"""Measured inference of architectures, in a file that searches, users and machines share.

Thesis, section 7.3.1: a look-up table of earlier trials' measurements. Machines that share a search
write parts of it (records.tuning.parts).
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from trimtab.config.parameter import same
from trimtab.locks import file_lock, lock_of
from trimtab.records.tuning.inference import (
    KnownArchitecture,
    KnownInferenceRecord,
    MeasuredInference,
)
from trimtab.records.tuning.parts import parts_of

_PATIENCE_S = 60.0


def share_architectures(path: Path, found: Sequence[KnownArchitecture]) -> None:
    """Add the new architectures of `found` to the file at `path`; present ones stay.

    Raises as KnownInference does.
    """
    with _held(path):
        known = list(_read(path).architectures)
        _join(known, found)
        KnownInferenceRecord(architectures=known).write(path)


def known_architectures(path: Path) -> list[KnownArchitecture]:
    """Return the architectures in the file at `path` and its parts; raises as KnownInference."""
    known = list[KnownArchitecture]()
    for part in parts_of(path):
        _join(known, _read(part).architectures)
    return known


class KnownInference:
    """The architectures of one inference program on one machine, in the file or the part at `path`.

    Raises TrimtabError for a damaged file, and UserError where another process keeps it locked.
    """

    def __init__(self, path: Path, machine: str, program: str) -> None:
        self.path, self.machine, self.program = path, machine, program

    def of(self, architecture: Mapping[str, Any]) -> list[MeasuredInference]:
        """Return the measurements of an architecture, in their order."""
        for one in known_architectures(self.path):
            if self._is(one, architecture):
                return one.measured
        return []

    def every(self) -> list[KnownArchitecture]:
        """Return all architectures of the program on the machine."""
        found = known_architectures(self.path)
        key = (self.machine, self.program)
        return [one for one in found if (one.machine, one.program) == key]

    def add(self, architecture: Mapping[str, Any], measured: MeasuredInference) -> None:
        """Keep a measurement, beside those that others have written meanwhile.

        It replaces an earlier one of the same configuration.
        """
        with _held(self.path):
            found = _read(self.path).architectures
            others = [one for one in found if not self._is(one, architecture)]
            earlier = [
                one
                for known in found
                if self._is(known, architecture)
                for one in known.measured
                if one.configuration != measured.configuration
            ]
            new = KnownArchitecture(
                self.machine, self.program, dict(architecture), [*earlier, measured]
            )
            KnownInferenceRecord(architectures=[*others, new]).write(self.path)

    def _is(self, known: KnownArchitecture, architecture: Mapping[str, Any]) -> bool:
        ours = KnownArchitecture(self.machine, self.program, dict(architecture), [])
        return _are_of_one(known, ours)


def _join(known: list[KnownArchitecture], found: Iterable[KnownArchitecture]) -> None:
    for one in found:
        at = next((at for at, other in enumerate(known) if _are_of_one(one, other)), None)
        if at is None:
            known.append(one)
            continue
        there = [measured.configuration for measured in known[at].measured]
        new = [each for each in one.measured if each.configuration not in there]
        known[at] = replace(known[at], measured=[*known[at].measured, *new])


def _are_of_one(one: KnownArchitecture, other: KnownArchitecture) -> bool:
    return (
        (one.machine, one.program) == (other.machine, other.program)
        and one.architecture.keys() == other.architecture.keys()
        and all(same(one.architecture[name], other.architecture[name]) for name in one.architecture)
    )


def _read(path: Path) -> KnownInferenceRecord:
    return KnownInferenceRecord.read(path) if path.exists() else KnownInferenceRecord()


def _held(path: Path) -> AbstractContextManager[None]:
    return file_lock(lock_of(path), f"{path}: held by another process", _PATIENCE_S)
