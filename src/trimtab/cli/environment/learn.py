"""`trimtab advanced learn`: keep what a slim environment misses."""

import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from trimtab.cli.output.console import console
from trimtab.cli.single_steps.forgetting import forget_in, say_what_came_back
from trimtab.cli.single_steps.learning import SlimFolder
from trimtab.cli.steps import WORKSPACE, WorkspaceOption, settling_bar
from trimtab.cli.workspace_lock import alone_in
from trimtab.debloating.recorded_pieces import RecordedPieces
from trimtab.errors import UserError, escape_control_characters
from trimtab.records.misses.cold_store_misses import format_skipped, write_record


@alone_in("folder")
def learn(
    folder: WorkspaceOption = WORKSPACE,
    repeats: Annotated[int, typer.Option(min=1, help="Runs in the slim environment.")] = 5,
    record: Annotated[
        Path | None,
        typer.Option(help="A fallback's record, as fallback.jsonl; then nothing is run."),
    ] = None,
    misses: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="What a node's `trimtab cold-store serve"
            " --misses` wrote; give one for each node. Then nothing is run.",
        ),
    ] = None,
    index: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST/PATH@DIGEST",
            help="With --from: the cold index of the image, if nodes ran several images.",
        ),
    ] = None,
    forget: Annotated[
        bool,
        typer.Option(
            "--forget",
            help="Restore the environment as it was delivered: remove files that came back since."
            " Runs nothing, keeps nothing.",
        ),
    ] = False,
) -> None:
    """Keep what the slim environment misses: in runs of the program, or as --record or --from tell.

    --workspace is that of `trimtab debloat`, whose environment is made again with what was missed,
    or results/debloat/TARGET/HARDWARE of an experiment, which the workflow makes again.
    """
    if forget and (record or misses):
        raise UserError("--forget keeps nothing: expected it without --record and --from")
    if record and misses:
        raise UserError("--record and --from: expected one of them")
    if forget:
        came_back = forget_in(folder)
        console.notes.print(f"{came_back}; they are removed again")
        console.path(folder / "env")
        console.result({"removed_files": came_back.files, "removed_bytes": came_back.disk_bytes})
        return
    say_what_came_back(folder)
    slim, skipped = SlimFolder(folder), ""
    if record:
        with console.step("making the environment again"):
            missed = slim.learn_from_record(record)
    elif misses:
        with console.step("making the environment again"):
            missed, skipped = _learned_from_nodes(slim, misses, index or ())
    else:
        with console.bars("running it in the slim environment") as progress:
            missed = slim.learn_from_runs(repeats, settling_bar(progress, repeats))
    console.notes.print(
        f"{missed:,} removed pieces were missed" + (": kept from now on" if missed else "")
    )
    if skipped:
        console.notes.print(Text(escape_control_characters(skipped)), soft_wrap=True)
    if missed and not slim.is_workspace:
        console.notes.print("run the workflow again to have them: `snakemake --cores all debloat`")
    changed = slim.environment if slim.is_workspace else slim.learned
    console.path(changed)
    console.result({"missed": missed, "learned": slim.learned, "changed": changed})


def _learned_from_nodes(
    slim: SlimFolder, misses: list[Path], indexes: Collection[str]
) -> tuple[int, str]:
    """Return how many pieces are new, and which lines were skipped."""
    with tempfile.TemporaryDirectory(prefix="trimtab-") as place:
        record = Path(place, "fallback.jsonl")
        skipped = write_record(misses, indexes, RecordedPieces(slim.target.root).has, record)
        return slim.learn_from_record(record), format_skipped(skipped) if skipped else ""
