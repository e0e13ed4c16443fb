"""What is known of architectures' inference: a file that searches, users and machines share.

Thesis, section 7.3.1: a look-up in a table of what earlier trials have measured.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab.config.parameter import same
from trimtab.locks import holding
from trimtab.records.tuning.inference import KnownArchitecture, KnownInferenceRecord, Measured

_PATIENCE_S = 60.0


class KnownInference:
    """The architectures of one inference program on one machine, in the file at `path`.

    Raises TrimtabError for a damaged file, and UserError where another process holds it without
    end.
    """

    def __init__(self, path: Path, machine: str, program: str) -> None:
        self.path, self.machine, self.program = path, machine, program

    def of(self, architecture: Mapping[str, Any]) -> list[Measured]:
        """Return what was measured of an architecture, in its order."""
        for one in self._record().architectures:
            if self._is(one, architecture):
                return one.measured
        return []

    def every(self) -> list[KnownArchitecture]:
        """Return all architectures of the program on the machine."""
        found = self._record().architectures
        key = (self.machine, self.program)
        return [one for one in found if (one.machine, one.program) == key]

    def add(self, architecture: Mapping[str, Any], measured: Measured) -> None:
        """Keep what was measured, beside what others have written meanwhile.

        Of one configuration the later counts.
        """
        lock = self.path.with_name(f"{self.path.name}.lock")
        with holding(lock, f"{self.path}: held by another process", _PATIENCE_S):
            found = self._record().architectures
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

    def _record(self) -> KnownInferenceRecord:
        if not self.path.exists():
            return KnownInferenceRecord()
        return KnownInferenceRecord.read(self.path)

    def _is(self, known: KnownArchitecture, architecture: Mapping[str, Any]) -> bool:
        return (
            (known.machine, known.program) == (self.machine, self.program)
            and known.architecture.keys() == architecture.keys()
            and all(same(known.architecture[name], architecture[name]) for name in architecture)
        )
