"""The initial knowledge of a search, and its addition to later searches.

The seeds of an experiment repeat one search, so each begins with a copy of the knowledge before the
first one. Neither their number nor their order changes a result. When a search ends, its new
knowledge joins the files that later searches begin with.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.files import new_folder_beside, remove_tree
from trimtab.records.tuning.parts import part_of
from trimtab.tuning.inference.known import known_architectures, share_architectures
from trimtab.tuning.system.shared_truth import known_jobs, share_jobs


@dataclass(frozen=True)
class Known:
    """The files of knowledge: of system settings, and of inference.

    Machines that share a search write parts of them, by their `suffix`.
    """

    truth: Path
    suffix: str = ""

    @classmethod
    def of(cls, folder: Path, suffix: str = "") -> "Known":
        """Return the files of a copy."""
        return cls(folder / "ground_truth.json", suffix)

    @property
    def ground_truth(self) -> Path:
        """The file of system settings: the ground truth."""
        return part_of(self.truth, self.suffix)

    @property
    def inference(self) -> Path:
        """The file of inference measurements."""
        return part_of(self.truth.with_name("known_inference.json"), self.suffix)

    def copied(self, folder: Path) -> "Known":
        """Return the copy in `folder`, made atomically at the first call."""
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
                if not folder.is_dir():  # another process may have been faster
                    raise
        return Known.of(folder)

    def learn_from(self, other: "Known", before: "Known") -> None:
        """Add the knowledge of `other` since `before` to these files.

        Raises as reading and sharing either file does.
        """
        old = known_jobs(before.ground_truth)
        if jobs := [job for job in known_jobs(other.ground_truth) if job not in old]:
            share_jobs(self.ground_truth, jobs)
        known = known_architectures(before.inference)
        if new := [one for one in known_architectures(other.inference) if one not in known]:
            share_architectures(self.inference, new)


@contextmanager
def beginning_with(known: Known, before: Known, folder: Path, suffix: str = "") -> Iterator[Known]:
    """Yield the copy of `before` in `folder`; `known` learns from it, however the block ends.

    One of several machines, by its `suffix`, writes a part of the copy. `known` learns from all
    parts when a single machine resumes the search.
    """
    own = before.copied(folder)
    if suffix:
        yield Known.of(folder, suffix)
        return
    try:
        yield own
    except BaseException:
        with suppress(TrimtabError, OSError):  # the first error is reported
            known.learn_from(own, before)
        raise
    known.learn_from(own, before)


def remove_but(searches: Path, known: Known) -> None:
    """Remove all other searches; `known` learns from those that were killed."""
    others = searches.parent.iterdir() if searches.parent.is_dir() else ()
    for other in others:
        if other == searches:
            continue
        for copy in other.glob("seed_*/known"):
            with suppress(TrimtabError):
                known.learn_from(Known.of(copy), Known.of(other / "known"))
        remove_tree(other)
