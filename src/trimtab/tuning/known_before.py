"""What a search knows beforehand, and what later ones know from it.

The seeds of an experiment are repetitions of one search, so each begins with a copy of what was
known before the first of them did: neither their number nor their order changes what one finds.
When one ends, what it has learnt joins the files that later searches begin with.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.files import new_folder_beside, remove_tree
from trimtab.records.tuning.inference import KnownInferenceRecord
from trimtab.tuning.inference.known import share_architectures
from trimtab.tuning.system.shared_truth import known_jobs, share_jobs


@dataclass(frozen=True)
class Known:
    """The files of what is known: of system settings, and of inference beside it."""

    ground_truth: Path

    @classmethod
    def of(cls, folder: Path) -> "Known":
        """Return the files of a copy."""
        return cls(folder / "ground_truth.json")

    @property
    def inference(self) -> Path:
        """The file of what was measured of inference."""
        return self.ground_truth.with_name("known_inference.json")

    def copied(self, folder: Path) -> "Known":
        """Return the copy in `folder`, which is made once, as of now, and whole or not at all."""
        if not folder.is_dir():
            new = new_folder_beside(folder)
            new.chmod(0o755)
            copy = Known.of(new)
            for path, to in (
                (self.ground_truth, copy.ground_truth), (self.inference, copy.inference)
            ):  # fmt: skip
                if path.exists():
                    shutil.copyfile(path, to)
            try:
                new.rename(folder)
            except OSError:
                remove_tree(new)
                if not folder.is_dir():  # else another process was faster
                    raise
        return Known.of(folder)

    def learn_from(self, other: "Known", before: "Known") -> None:
        """Join to these files what others learnt who began with those of `before`.

        Raises as reading and sharing either file does.
        """
        if _differ(other.ground_truth, before.ground_truth):
            old = known_jobs(before.ground_truth)
            new = [job for job in known_jobs(other.ground_truth) if job not in old]
            share_jobs(self.ground_truth, new)
        if _differ(other.inference, before.inference):
            found = KnownInferenceRecord.read(other.inference).architectures
            share_architectures(self.inference, found)


@contextmanager
def beginning_with(known: Known, before: Known, folder: Path) -> Iterator[Known]:
    """Yield the copy of `before` in `folder`; `known` learns from it, however the block ends."""
    own = before.copied(folder)
    try:
        yield own
    finally:
        known.learn_from(own, before)


def remove_but(searches: Path, known: Known) -> None:
    """Remove the searches beside these; `known` learns from what was killed before its end."""
    others = searches.parent.iterdir() if searches.parent.is_dir() else ()
    for other in others:
        if other == searches:
            continue
        for copy in other.glob("seed_*/known"):
            with suppress(TrimtabError):
                known.learn_from(Known.of(copy), Known.of(other / "known"))
        remove_tree(other)


def _differ(path: Path, before: Path) -> bool:
    if not path.exists():
        return False
    return not before.exists() or path.read_bytes() != before.read_bytes()
