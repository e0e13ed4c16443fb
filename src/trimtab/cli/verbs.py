"""All verbs of `trimtab`, which the overview names without importing this module."""

import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from trimtab.cli import workspace
from trimtab.cli.config_options.debloat import DEBLOAT, Gpus, Runs, SettleOption
from trimtab.cli.config_options.group import option_groups
from trimtab.cli.doctor import doctor
from trimtab.cli.image.cold_store import cold_store
from trimtab.cli.image.command import image
from trimtab.cli.imports import imports
from trimtab.cli.output.command_group import CommandGroup
from trimtab.cli.output.console import console
from trimtab.cli.overview import ADVANCED, GIVEN_ALWAYS, VERBS, options_of_all
from trimtab.cli.program_options import PROGRAM, ProgramOptions, words
from trimtab.cli.project.new import new
from trimtab.cli.project.run import run
from trimtab.cli.result_lines import say_result
from trimtab.cli.results.check import check
from trimtab.cli.results.compare import compare
from trimtab.cli.single_steps import schedule as queue_cli
from trimtab.cli.single_steps.forgetting import forget_in, say_what_came_back
from trimtab.cli.single_steps.learning import SlimFolder
from trimtab.cli.single_steps.simulate_queue import simulate
from trimtab.cli.single_steps.spans import locate, reconstruct
from trimtab.cli.single_steps.trace import trace
from trimtab.cli.single_steps.worth import worth
from trimtab.cli.steps import WORKSPACE, WorkspaceOption, settling_bar, slimmed, traced
from trimtab.cli.summary import format_missed, held_out_table
from trimtab.cli.tuning.command import tune
from trimtab.cli.workspace_lock import alone_in
from trimtab.config.groups.debloat import Debloat, Fallback, Gpu, Mode
from trimtab.debloating.recorded_pieces import RecordedPieces
from trimtab.debloating.verification.verify import NotJudgedError, VerificationError
from trimtab.errors import UserError, escape_control_characters
from trimtab.evaluation.outcome.read import outcome_in
from trimtab.records.misses.cold_store_misses import format_skipped, write_record
from trimtab.records.verdict import Verdict

app = CommandGroup(order=VERBS, **GIVEN_ALWAYS)
app.callback()(options_of_all)
queue_cli.schedule.command(
    common=(
        "jobs", "nodes", "policy", "output", "price", "carbon", "sleep_after", "autoscale",
        "power_cap_kw", "images",
    )
)(simulate)  # fmt: skip
app.add_typer(queue_cli.schedule, name="schedule")
app.command(
    common=(
        "jobs", "images", "job_images", "nodes", "policy", "output", "slim_share", "price",
        "carbon", "autoscale", "egress_price",
    )
)(worth)  # fmt: skip
app.add_typer(image, name="image")
app.add_typer(cold_store, name="cold-store")
app.command(
    common=(
        "image", "python", "output", "compare", "ends_with", "drive", "ready", "address", "policy",
    )
)(new)  # fmt: skip
app.command()(run)
app.command()(check)
app.command(
    common=(
        "parameter", "epochs", "metric", "epoch_mark", "folder", "tuner", "objective", "trials",
        "time", "deploy",
    )
)(tune)  # fmt: skip
app.command()(imports)
app.command()(doctor)
advanced = CommandGroup(order=ADVANCED, help=VERBS["advanced"], no_args_is_help=True)
app.add_typer(advanced, name="advanced")


def _add_advanced(
    verb: Callable[..., None], common: Collection[str] | None = None
) -> Callable[..., None]:
    """Add a verb to `trimtab advanced`, and under its old name until the next version."""
    advanced.command(common=common)(verb)
    app.command(new_name=f"advanced {verb.__name__}", common=common)(verb)
    return verb


_add_advanced(
    trace, ("folder", "python", "output", "compare", "ends_with", "drive", "ready", "runs")
)
for each in (queue_cli.probe, compare, locate, reconstruct):
    _add_advanced(each)


MaybeCommand = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- COMMAND", help="The program; without one only GPU code goes, by architecture."
    ),
]


@app.command(
    common=(
        "folder", "python", "output", "compare", "ends_with", "drive", "ready", "remove", "keep",
        "fallback",
    )
)  # fmt: skip
@alone_in("folder")
@option_groups(program=PROGRAM, options=DEBLOAT)
def debloat(
    program: ProgramOptions,
    options: Debloat,
    command: MaybeCommand = None,
    folder: WorkspaceOption = WORKSPACE,
    runs: Runs = 1,
    gpus: Gpus = None,
    settle: SettleOption = 5,
) -> None:
    """Trace COMMAND, then make its slim environment: WORKSPACE/env/bin/python runs it.

    It is run and made again until it misses nothing, --settle times in a row.

    Without COMMAND nothing is run: with --python ENV/bin/python --gpu architecture --for 9.0 all
    GPU code leaves the environment that GPUs of compute capability 9.0 cannot load.
    """
    if command:
        traced(folder, command, program, runs, options.keep_libraries)
    elif options.gpu == Gpu.ARCHITECTURE and (program.python or program.target):
        workspace.list_libraries(folder, program)
    else:
        raise UserError(
            "give the program after --, as in `trimtab debloat -- python program.py`; or"
            " --gpu architecture and --python or --target"
        )
    step = "making and settling the slim environment"
    settling = slimmed(folder, options, gpus, settle, step)
    if options.mode == Mode.PUNCH and options.fallback != Fallback.NONE:
        console.notes.print("no fallback with mode punch: a call into removed code is a crash")
    say_result(folder, settling)
    console.path(folder / "env")
    console.result(outcome_in(folder).to_json())


@_add_advanced
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


@app.command()
@alone_in("folder")
def verify(
    folder: WorkspaceOption = WORKSPACE,
    repeats: Annotated[int, typer.Option(min=1, help="Runs in each environment.")] = 5,
    held_out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help="A command with an input that was not profiled (for a server: its client)."
            " Reports removed code that it asks for. Repeatable.",
        ),
    ] = None,
) -> None:
    """Run the debloated program again in both environments and compare what it does.

    Ends with 1 where the program, or a held-out input, does something else in the slim environment,
    and with 2 where one cannot be judged: it fails in the original, or varies there.
    """
    commands = [words("--held-out", text) for text in held_out or []]
    try:
        with console.step(f"verifying: {repeats} runs in each environment"):
            path = workspace.verify(folder, repeats, commands)
    except VerificationError:
        verdict = Verdict.read(folder / "failure/verify.json")
        console.result(verdict.to_json())
        _tell_held_out(verdict)
        raise
    except NotJudgedError:
        verdict = Verdict.read(folder / "verify.json")
        console.result(verdict.to_json())
        _tell_held_out(verdict)
        raise
    verdict = Verdict.read(path)
    [verified] = verdict.workloads
    end = f", which {verified.ended}" if verified.ended else ""
    console.notes.print(f"equal output in every run{end}", style="green")
    say_what_came_back(folder)
    if verified.risk is not None:
        clean = f"{verified.clean_runs} of {verified.slim_runs} runs missed nothing"
        console.notes.print(f"{clean}; {verified.risk}", soft_wrap=True)
    if verdict.machine and verdict.machine.busy:
        said = f"the machine was busy: {verdict.machine.busy}; measure again when it is idle"
        console.notes.print(said, style="yellow", soft_wrap=True)
    if missed := verdict.missed_files:
        said = f"{len(missed):,} removed files were looked for: {missed[0]}"
        console.notes.print(said, soft_wrap=True)
    _tell_held_out(verdict)
    console.path(path)
    console.result(verdict.to_json())


def _tell_held_out(verdict: Verdict) -> None:
    if verdict.held_out:
        console.notes.print(held_out_table(verdict.held_out))
        for line in format_missed(verdict.held_out):
            console.notes.print(Text(escape_control_characters(line)), soft_wrap=True)
