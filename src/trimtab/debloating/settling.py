"""Settling: a slim environment is run and built again until it has what chance may ask of it.

Which code a run takes may hang on chance and on its surroundings: a random number, the address of
an object, the number of CPUs. In a slim environment whose fallback puts back what is missing, a run
that takes another way than the traced ones goes on, and tells what it missed.
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

OnTurn = Callable[[int, int, int], None]  # turns in a row without a miss; pieces missed; builds


ORIGINAL = Source(Fallback.ORIGINAL)  # the original environment is here


def debloat_and_settle(stage: DebloatStage, usages: Sequence[Path], destination: Path) -> None:
    """Write into `destination` what Debloating does, and settling.json.

    The environment that it is settled in is made there, and removed.
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
    """Run every workload in the slim `environment`, and make that again with what is missed.

    The environment has been built with a fallback; `earlier` are runs in it as it is. It is settled
    after as many runs in a row as the stage says that asked for nothing new. A run in an older
    build counts: the next build keeps all that such a run asked for. The last run of them is in the
    last build. Writes settling.json. Raises TrimtabError where a workload ends in another way than
    in the original environment.
    """
    stage, history = debloating.stage, RunHistory(earlier)
    folder, why_not = debloating.destination / "settling", why_not_settled(stage)
    slim = SlimRuns(debloating.target, environment, folder, history)
    needed, last_build = stage.settle.clean_runs, history.builds + stage.settle.rebuilds
    clean = turns = 0
    kept = known = (len(history.pieces), 0)  # pieces and files: in the last build, in all
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
    """Return the libraries without whose slimming the workloads end well, or none.

    The environment has originals in the place of some libraries then.
    """

    def ends_well(alone: Sequence[str]) -> bool:
        for name in debloating.slimmed:
            libraries = debloating.destination / "libraries"
            folder = debloating.target.root if name in alone else libraries
            _put(folder / name, environment / name)
        return slim.ends_well(debloating.stage.workloads)

    return find_self_checking(debloating.slimmed, ends_well)


def _put(source: Path, place: Path) -> None:
    """Have a copy of `source` at `place`, which may be one file with others."""
    beside = place.with_name(f".{place.name}.trimtab")
    shutil.copy2(source, beside)
    beside.replace(place)


def why_not_settled(stage: DebloatStage) -> str:
    """Return why there is nothing to settle, or nothing to settle it with, or ""."""
    if stage.debloat.mode == Mode.PUNCH:
        return "mode punch has no fallback, so that what is missed cannot be put back"
    return "" if stage.settle.clean_runs else "no run was asked for"
