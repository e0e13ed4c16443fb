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
from trimtab.debloating.risk import SlimHistory
from trimtab.debloating.slim_runs import OtherEndError, SlimRuns
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
    when each workload missed nothing in as many runs in a row as the stage says. Writes
    settling.json; what was missed stays then, removed files too, in all that is written, and in the
    environment once `debloating.deliver` has made it so. Raises TrimtabError where a workload ends
    in another way than in the original environment.
    """
    stage, history = debloating.stage, SlimHistory(earlier)
    folder, why_not = debloating.destination / "settling", why_not_settled(stage)
    slim = SlimRuns(debloating.target, environment, folder, history)
    last = history.builds + stage.settle.rebuilds
    left: list[str] = []

    def missed_now() -> set[int]:
        try:
            return _missed(stage, slim, on_turn)
        except OtherEndError:
            if left or not (found := _self_checking(debloating, environment, slim)):
                raise
        left.extend(found)
        debloating.leave_alone(left)
        debloating.write()
        debloating.build(environment, ORIGINAL)
        history.builds += 1
        return _missed(stage, slim, on_turn)

    while not why_not and (missed := missed_now()):
        debloating.keep([history.pieces[number] for number in sorted(missed)])
        debloating.write()
        debloating.build(environment, ORIGINAL)
        history.builds += 1
        if history.builds == last:
            why_not = f"something was missed in each of {stage.settle.rebuilds} builds"
    if slim.missed_files:
        debloating.keep_files(slim.missed_files)
        debloating.write()
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


def _missed(stage: DebloatStage, slim: SlimRuns, on_turn: OnTurn) -> set[int]:
    """Return what is missed until nothing is, in as many turns in a row as are asked for.

    Once something is missed, the next build needs as many clean turns anyway: one turn without news
    is enough to have it made, or as many turns with news.
    """
    missed: set[int] = set()
    clean = turns_since = 0
    while max(clean, turns_since) < stage.settle.clean_runs:
        asked = slim.turn(stage.workloads)
        nothing_new = asked <= missed
        missed |= asked
        if missed and nothing_new:
            break
        clean, turns_since = (0, turns_since + 1) if missed else (clean + 1, 0)
        on_turn(clean, len(slim.history.pieces), slim.history.builds)
    return missed
