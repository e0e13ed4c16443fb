"""Settling: run a slim environment and rebuild it until runs miss nothing more.

Which functions run can vary between runs: by a random number, the address of an object, the number
of CPUs. In a slim environment whose fallback restores missing code, such a run goes on and reports
its misses.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from trimtab.config.groups.debloat import Fallback, Mode
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import Debloating
from trimtab.debloating.fallback import Source
from trimtab.debloating.risk import RunHistory
from trimtab.debloating.slim_runs import SlimRunEndError, SlimRuns
from trimtab.files import remove_tree
from trimtab.profiling.self_checking import find_self_checking
from trimtab.progress import runs_to_do
from trimtab.records.misses.settling import Settling

OnTurn = Callable[[int, int, int], None]  # consecutive turns without a miss; missed pieces; builds


ORIGINAL = Source(Fallback.ORIGINAL)  # the original environment is on this machine


def debloat_and_settle(stage: DebloatStage, usages: Sequence[Path], destination: Path) -> None:
    """Write the output of Debloating and settling.json into `destination`.

    The environment for settling is built there, and removed at the end.
    """
    environment = destination / ".settling"
    settles = not why_not_settled(stage)
    with Debloating(stage, usages, destination, libraries_stay=True, settles=settles) as debloating:
        debloating.write()
        try:
            if settles:
                debloating.build(environment, ORIGINAL)
            with runs_to_do(f"settle {stage.target}", None):
                settle(debloating, environment)
        finally:
            remove_tree(environment)
            (destination / "environment.json").unlink(missing_ok=True)


def settle(
    debloating: Debloating,
    environment: Path,
    on_turn: OnTurn = lambda clean, missed, builds: None,
    earlier: Settling | None = None,
) -> Settling:
    """Run every workload in the slim `environment`, and rebuild it with what it missed.

    The environment has a fallback; `earlier` has runs in it as it is. It is settled after the
    stage's number of consecutive runs without a new miss. Runs in older builds count, as the next
    build keeps all that they asked for; the last of them is in the last build. Writes
    settling.json. Raises TrimtabError if a workload ends otherwise than in the original
    environment.
    """
    stage, history = debloating.stage, RunHistory(earlier)
    folder, why_not = debloating.destination / "settling", why_not_settled(stage)
    slim = SlimRuns(debloating.target, environment, folder, history)
    needed, last_build = stage.settle.clean_runs, history.builds + stage.settle.rebuilds
    clean = turns = 0
    kept = known = (len(history.pieces), 0)  # pieces and files: in the last build, and in all
    left: list[str] = []

    def build() -> None:
        debloating.write()
        debloating.build(environment, ORIGINAL)
        history.builds += 1

    while not why_not and clean < needed:
        try:
            asked = slim.turn(stage.workloads)
        except SlimRunEndError:
            if left or not (left := _self_checking(debloating, environment, slim)):
                raise
            debloating.leave_alone(left)
            build()
            clean = 0
            continue
        before, known = known, (len(history.pieces), len(slim.missed_files))
        is_clean = known == before and all(number >= kept[0] for number in asked)
        clean, turns = clean + 1 if is_clean else 0, turns + 1
        on_turn(clean, known[0], history.builds)
        if turns == needed * stage.settle.rebuilds and clean < needed:
            why_not = f"something was missed in {turns} runs"
        if known != kept and (clean >= needed - 1 or why_not):
            debloating.keep(history.pieces[kept[0] :])
            if known[1] != kept[1]:
                debloating.keep_files(slim.missed_files)
            build()
            kept = known
            if history.builds == last_build and not why_not:
                why_not = f"something was missed in each of {stage.settle.rebuilds} builds"
    missed_files = slim.missed_files.union(earlier.missed_files if earlier else ())
    slim.remove()
    settling = Settling(
        target=stage.target,
        hardware=stage.hardware,
        clean_runs=stage.settle.clean_runs,
        builds=history.builds,
        settled=not why_not,
        why_not=why_not,
        runs=history.runs,
        missed=history.pieces,
        missed_files=sorted(missed_files),
        left_alone=sorted(debloating.self_checking),
    )
    settling.write(debloating.destination / "settling.json")
    return settling


def _self_checking(debloating: Debloating, environment: Path, slim: SlimRuns) -> list[str]:
    """Return the libraries that must stay original for the workloads to end well, or none.

    Then the environment has the originals of some libraries.
    """

    def ends_well(alone: Sequence[str]) -> bool:
        for name in debloating.slimmed:
            libraries = debloating.destination / "libraries"
            folder = debloating.target.root if name in alone else libraries
            _put(folder / name, environment / name)
        return slim.ends_well(debloating.stage.workloads)

    return find_self_checking(debloating.slimmed, ends_well)


def _put(source: Path, place: Path) -> None:
    """Copy `source` to `place`, which may be a hard link that must not change."""
    beside = place.with_name(f".{place.name}.trimtab")
    shutil.copy2(source, beside)
    beside.replace(place)


def why_not_settled(stage: DebloatStage) -> str:
    """Return why settling is not possible or not asked for, or ""."""
    if stage.debloat.mode == Mode.PUNCH:
        return "mode punch has no fallback, so that what is missed cannot be put back"
    return "" if stage.settle.clean_runs else "no run was asked for"
