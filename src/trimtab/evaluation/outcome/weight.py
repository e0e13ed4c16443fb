"""The size of a whole environment, its used part, and suggestions for more."""

from collections.abc import Collection, Iterable, Iterator

import pandas as pd

from trimtab.records.built_environment import BuiltEnvironment, CompressedEnvironment
from trimtab.records.manifest import Manifest, OtherFiles
from trimtab.records.misses.brought_back import BroughtBack
from trimtab.records.outcome import (
    BytesBeforeAfter,
    EnvironmentOutcome,
    EnvironmentPart,
    More,
)
from trimtab.records.verdict import Verdict

_PYTHON = {"byte code", "Python modules", "type stubs"}  # kinds of files
_WORTH_SAYING_BYTES = 1_000_000
LOADED, NOT_LOADED = "libraries that were loaded", "libraries that no run loaded"
_PYTHON_FILES, _OTHER_FILES = "Python files", "other files"
UNREAD = tuple(f"{name} that no run read" for name in (_PYTHON_FILES, _OTHER_FILES))


def weigh(
    manifest: Manifest,
    libraries: pd.DataFrame,
    built: BuiltEnvironment,
    compressed: CompressedEnvironment | None = None,
    verdict: Verdict | None = None,
    label: str = "",
    came_back: BroughtBack | None = None,
) -> EnvironmentOutcome:
    """Return the outcome of a target, from `libraries` (LIBRARIES) and its other documents.

    `came_back` is included in the slim environment's size in `built`.
    """
    disk = BytesBeforeAfter(built.before_bytes, built.after_bytes)
    packed = None
    if compressed is not None:
        packed = BytesBeforeAfter(compressed.before_bytes, compressed.after_bytes)
    return EnvironmentOutcome(
        target=manifest.target,
        hardware=manifest.hardware,
        kind=manifest.environment.kind,
        disk=disk,
        compressed=packed,
        shared_bytes=built.shared_bytes,
        parts=list(_parts(manifest, libraries, disk, came_back)),
        more=list(_more(manifest, libraries, disk)),
        verified=None if verdict is None else verdict.passed,
        ends_judged=True,
        sentence=_sentence(label or manifest.target, disk, packed, verdict, came_back),
    )


def _parts(
    manifest: Manifest,
    libraries: pd.DataFrame,
    whole: BytesBeforeAfter,
    came_back: BroughtBack | None,
) -> Iterator[EnvironmentPart]:
    parts = [_loaded(libraries), _not_loaded(manifest)]
    kinds = manifest.other_files
    python = [files for kind, files in kinds.items() if kind in _PYTHON]
    data = [files for kind, files in kinds.items() if kind not in _PYTHON]
    for name, of_it in ((_PYTHON_FILES, python), (_OTHER_FILES, data)):
        if of_it:
            parts += _read_and_unread(name, of_it)
    if came_back is not None and came_back.paths:
        parts.append(
            EnvironmentPart(0, came_back.disk_bytes, "files that came back", came_back.files)
        )
    yield from parts
    before_bytes = whole.before_bytes - sum(part.before_bytes for part in parts)
    after_bytes = whole.after_bytes - sum(part.after_bytes for part in parts)
    said = "folders, links, and what brings back" if kinds else "Python, data and all else"
    yield EnvironmentPart(max(0, before_bytes), max(0, after_bytes), said)


def _loaded(libraries: pd.DataFrame) -> EnvironmentPart:
    before, after = libraries[["disk_before_bytes", "disk_after_bytes"]].sum()
    return EnvironmentPart(int(before), int(after), LOADED, len(libraries))


def _not_loaded(manifest: Manifest) -> EnvironmentPart:
    of_it = manifest.unloaded.values()
    before = sum(library.disk_before_bytes for library in of_it)
    return EnvironmentPart(
        before, sum(library.disk_after_bytes for library in of_it), NOT_LOADED, len(of_it)
    )


def _read_and_unread(name: str, of_it: Iterable[OtherFiles]) -> Iterator[EnvironmentPart]:
    of_it = list(of_it)
    unread = EnvironmentPart(
        sum(each.unread_disk_bytes for each in of_it),
        sum(each.unread_kept_disk_bytes for each in of_it),
        f"{name} that no run read",
        sum(each.unread_files for each in of_it),
    )
    yield EnvironmentPart(
        sum(each.disk_bytes for each in of_it) - unread.before_bytes,
        sum(each.kept_disk_bytes for each in of_it) - unread.after_bytes,
        f"{name} that were read",
        sum(each.files for each in of_it) - (unread.files or 0),
    )
    yield unread


def _more(manifest: Manifest, libraries: pd.DataFrame, whole: BytesBeforeAfter) -> Iterator[More]:
    """Yield suggestions to remove unused remaining bytes, the largest first."""
    not_loaded = _not_loaded(manifest)
    unread = sum(each.unread_kept_disk_bytes for each in manifest.other_files.values())
    found = []
    if manifest.removed_files is None:
        found.append(More("files that no run read", unread, "remove: files"))
    elif unread:
        found.append(More("files that no run read, and that a rule keeps", unread))
    is_left = not_loaded.after_bytes == not_loaded.before_bytes
    if is_left and manifest.removed_files is None:
        option = "remove: libraries"
        found.append(More("libraries that no run loaded", not_loaded.after_bytes, option))
    whole_ones = libraries[~libraries["debloated"].astype(bool)]
    for reason, of_it in whole_ones.groupby(whole_ones["reason"].fillna("")):
        left = int(of_it["disk_after_bytes"].sum())
        found.append(More(f"loaded libraries left whole: {reason or 'no reason known'}", left))
    found = [each for each in found if each.at_most_bytes >= _WORTH_SAYING_BYTES]
    yield from sorted(found, key=lambda each: -each.at_most_bytes)


def _sentence(
    label: str,
    disk: BytesBeforeAfter,
    compressed: BytesBeforeAfter | None,
    verdict: Verdict | None,
    came_back: BroughtBack | None,
) -> str:
    said = [f"{label}: {disk} on disk"]
    if came_back is not None and came_back.paths:
        said.append(str(came_back))
    if compressed:
        said.append(f"{compressed} compressed")
    if verdict is None:
        said.append("not verified yet")
    elif not verdict.passed:
        said.append(f"verification failed: {verdict.problem}")
    else:
        runs = sum(each.repeats for each in verdict.workloads)
        equal = sum(each.equal_runs for each in verdict.workloads)
        ends = dict.fromkeys(each.ended for each in verdict.workloads if each.ended)
        which = f", which {', '.join(ends)}" if ends else ""
        said.append(f"the output was equal in {equal} of {runs} runs{which}")
        said += _risk(verdict)
    return "; ".join(said) + "."


def _risk(verdict: Verdict) -> Collection[str]:
    risks = [each.risk for each in verdict.workloads if each.risk is not None]
    if not risks:
        return []
    return [str(max(risks, key=lambda risk: risk.bound))]
