"""The sampled commits of a branch: the last of each interval and year."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType, RepositoryOpenFlag

from trimtab.errors import UserError

DAY_S = 86_400


@dataclass(frozen=True)
class Sample:
    """A commit and its time, which is never before its ancestors' times."""

    commit: str
    at_s: int

    @property
    def year(self) -> int:
        """The year, in UTC."""
        return datetime.fromtimestamp(self.at_s, UTC).year


def open_repository(location: Path) -> pygit2.Repository:
    """Return the repository in the folder `location`; raises UserError where there is none."""
    try:
        return pygit2.Repository(str(location), RepositoryOpenFlag.NO_SEARCH)
    except pygit2.GitError as error:
        raise UserError(
            f"{location}: not a git repository ({error}); clone it there: git clone --bare URL"
            f" {location}"
        ) from None


def tip_of(repository: pygit2.Repository, revision: str) -> str:
    """Return the commit that `revision` names; raises UserError where it names none."""
    try:
        return str(repository.revparse_single(revision).peel(ObjectType.COMMIT).id)
    except (KeyError, ValueError, pygit2.GitError):
        raise UserError(
            f"{repository.path}: revision: {revision!r} given, expected a branch, a tag or a commit"
            " that it has"
        ) from None


def samples_of(repository: pygit2.Repository, tip: str, interval_days: int) -> list[Sample]:
    """Return the last commits of each interval and year up to `tip`, in order.

    It follows first parents: a branch's lines count from its merge. Raises UserError for a shallow
    history.
    """
    samples: list[Sample] = []
    for sample in _first_parents(repository, tip):
        if samples and _period(samples[-1], interval_days) == _period(sample, interval_days):
            samples.pop()
        samples.append(sample)
    return samples


def _period(sample: Sample, interval_days: int) -> tuple[int, int]:
    return sample.year, sample.at_s // (interval_days * DAY_S)


def _first_parents(repository: pygit2.Repository, tip: str) -> Iterator[Sample]:
    """Yield the first parents' commits, from the first to `tip`."""
    if repository.is_shallow:
        raise UserError(
            f"{repository.path}: has a part of its history only; complete it: git fetch --unshallow"
        )
    found: list[tuple[str, int]] = []
    commit = repository[tip]
    while isinstance(commit, pygit2.Commit):
        found.append((str(commit.id), commit.commit_time))
        parents = commit.parent_ids
        if not parents:
            break
        try:
            commit = repository[parents[0]]
        except KeyError:
            raise UserError(
                f"{repository.path}: the commit {parents[0]} is missing; clone it again"
            ) from None
    latest_s = 0
    for name, at_s in reversed(found):
        latest_s = max(latest_s, at_s)
        yield Sample(name, latest_s)
