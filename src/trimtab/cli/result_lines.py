"""The five lines at the end of `trimtab debloat`; its tables are for `--verbose`."""

from collections.abc import Iterator
from pathlib import Path

from trimtab.cli.config_options.debloat import STORE_INSIDE
from trimtab.cli.output.console import console
from trimtab.cli.summary import format_scanners, removed_files_in, summary_of
from trimtab.config.groups.debloat import Debloat, Fallback
from trimtab.debloating.removal import options_of
from trimtab.debloating.snapshots.making import NoSnapshot, Snapshot
from trimtab.errors import escape_control_characters
from trimtab.evaluation.outcome.read import outcome_in
from trimtab.records.built_environment import BuiltEnvironment
from trimtab.records.misses.settling import Settling
from trimtab.records.outcome import BytesBeforeAfter, EnvironmentOutcome, mb


def say_result(folder: Path, settling: Settling) -> None:
    """Print the result in the workspace `folder`: four lines, then its path."""
    (environment,) = outcome_in(folder).environments
    options = options_of(folder)
    for name, words in result_lines(folder, environment, options, settling):
        console.notes.print(escape_control_characters(f"{name:<9}{words}"), soft_wrap=True)
    if not console.verbose:
        return
    for part in summary_of(folder, settling):
        console.notes.print(part, soft_wrap=isinstance(part, str))
    if (removed := removed_files_in(folder)) is not None:
        console.notes.print(removed)
        console.notes.print(format_scanners(folder, options.package_database), soft_wrap=True)


def result_lines(
    folder: Path, environment: EnvironmentOutcome, options: Debloat, settling: Settling
) -> Iterator[tuple[str, str]]:
    """Yield names and sentences: sizes before and after, settling, and dependencies."""
    disk, compressed = environment.disk, environment.compressed
    before, after = f"{mb(disk.before_bytes)} MB", f"{mb(disk.after_bytes)} MB{_less(disk)}"
    if compressed:
        before += f", compressed {mb(compressed.before_bytes)} MB"
        after += f", compressed {mb(compressed.after_bytes)} MB{_less(compressed)}"
    yield "before", before
    yield "after", after
    yield "settled", format_settled(settling)
    yield "needs", _needs(folder, options)


def format_settled(settling: Settling) -> str:
    """Return the number of last runs without misses, and the misses of earlier ones."""
    if not settling.settled:
        return f"no: {settling.why_not}"
    kept = len(settling.missed) + len(settling.missed_files)
    clean = f"{settling.clean_runs} of {settling.clean_runs} runs missed nothing"
    return f"yes: {clean}" + (f"; {kept:,} missed before, now kept" if kept else "")


def format_start(made: Snapshot | NoSnapshot) -> str:
    """Return what a snapshot is worth, or why there is none."""
    if isinstance(made, NoSnapshot):
        return f"usual: no snapshot, {made.why}"
    change_pct = 100 * (made.after_s / made.before_s - 1)
    return (
        f"{made.before_s:.2f} -> {made.after_s:.2f} s ({change_pct:+.0f} %) from a snapshot of"
        f" {mb(made.size_bytes)} MB, on this machine"
    )


def _less(change: BytesBeforeAfter) -> str:
    return "" if change.less_pct is None else f" ({-change.less_pct:+.1f} %)"


def _needs(folder: Path, options: Debloat) -> str:
    match options.fallback:
        case Fallback.ORIGINAL:
            original = BuiltEnvironment.read(folder / "environment.json").original
            where = "the original" if original is None else original.location
            return f"{where}, unchanged (with --fallback packed: nothing)"
        case Fallback.STORE:
            pushed = ", or `trimtab image push`" if options.store_address == STORE_INSIDE else ""
            return f"the store {options.store_address or options.store}{pushed}"
        case Fallback.PACKED:
            return "nothing else"
        case _:
            return "nothing else, and brings nothing back"
