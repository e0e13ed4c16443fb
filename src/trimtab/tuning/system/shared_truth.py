"""The file of the ground truth, which processes, users and machines share.

Each adds its knowledge, one at a time: under a lock that ends with its holder, the file is read,
merged and written as a whole. Machines that share a search write parts of it
(records.tuning.parts).
"""

from collections.abc import Iterable
from pathlib import Path

from trimtab.errors import TrimtabError, UserError
from trimtab.locks import file_lock, lock_of
from trimtab.records.tuning.ground_truth import GroundTruthRecord, KnownJob
from trimtab.records.tuning.parts import parts_of

_PATIENCE_S = 30.0  # each holder needs milliseconds
_MOST_JOBS = 1000  # of all machines; the oldest are dropped


def known_jobs(path: Path) -> list[KnownJob]:
    """Return the jobs in the file and all its parts; none where they do not exist.

    Raises UserError for a damaged file.
    """
    found: dict[str, KnownJob] = {}
    for part in parts_of(path):
        _join(found, _read(part))
    return list(found.values())


def _read(path: Path) -> list[KnownJob]:
    if not path.exists():
        return []
    try:
        return GroundTruthRecord.read(path).jobs
    except TrimtabError as error:
        what, _, _ = str(error).rpartition("; run the stage")
        raise UserError(
            f"{what or error}; restore the ground truth from a copy, or remove it, and what is "
            "tuned is probed again"
        ) from None


def share_jobs(path: Path, jobs: Iterable[KnownJob]) -> None:
    """Add new knowledge of `jobs` to the file or the part; additions of others stay.

    Raises UserError where the file is damaged, or another process keeps it locked.
    """
    with file_lock(lock_of(path), f"{path}: held by another", _PATIENCE_S):
        found = {job.id: job for job in _read(path)}
        _join(found, jobs)
        GroundTruthRecord(jobs=list(found.values())[-_MOST_JOBS:]).write(path)


def _join(found: dict[str, KnownJob], jobs: Iterable[KnownJob]) -> None:
    for job in jobs:
        found[job.id] = _joined(found[job.id], job) if job.id in found else job


def _joined(theirs: KnownJob, ours: KnownJob) -> KnownJob:
    """Merge two records of a job; for equal settings warm measurements win, then ours."""
    profiles = {frozenset(one.settings.items()): one for one in (*theirs.profiles, *ours.profiles)}
    costs = {
        frozenset(one.settings.items()): one
        for one in sorted((*theirs.costs, *ours.costs), key=lambda one: one.warm)
    }
    return KnownJob(ours.id, ours.machine, list(profiles.values()), list(costs.values()))
