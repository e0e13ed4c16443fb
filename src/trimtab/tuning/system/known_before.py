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
from trimtab.records.tuning.parts import part_of
from trimtab.tuning.inference.known import known_architectures, share_architectures
from trimtab.tuning.system.shared_truth import known_jobs, share_jobs


@dataclass(frozen=True)
class Known:
    """The files of what is known: of system settings, and of inference beside it.

    Of those of machines that share a search, the parts that the one with this `suffix` writes.
    """

    truth: Path
    suffix: str = ""

    @classmethod
    def of(cls, folder: Path, suffix: str = "") -> "Known":
        """Return the files of a copy."""
        return cls(folder / "ground_truth.json", suffix)

    @property
    def ground_truth(self) -> Path:
        """The file of what was learnt of system settings."""
        return part_of(self.truth, self.suffix)

    @property
    def inference(self) -> Path:
        """The file of what was measured of inference."""
        return part_of(self.truth.with_name("known_inference.json"), self.suffix)

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
        old = known_jobs(before.ground_truth)
        if jobs := [job for job in known_jobs(other.ground_truth) if job not in old]:
            share_jobs(self.ground_truth, jobs)
        known = known_architectures(before.inference)
        if new := [one for one in known_architectures(other.inference) if one not in known]:
            share_architectures(self.inference, new)


@contextmanager
def beginning_with(known: Known, before: Known, folder: Path, suffix: str = "") -> Iterator[Known]:
    """Yield the copy of `before` in `folder`; `known` learns from it, however the block ends.

    One of several machines, by its `suffix`, has a part of the copy to write, and `known` learns
    from all of them when the search is gone on with by one that is alone.
    """
    own = before.copied(folder)
    if suffix:
        yield Known.of(folder, suffix)
        return
    try:
        yield own
    except BaseException:
        with suppress(TrimtabError, OSError):  # the first error is what is to be told
            known.learn_from(own, before)
        raise
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
