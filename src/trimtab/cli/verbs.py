"""Every verb of `trimtab`, which trimtab.cli.main names without importing this."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from trimtab.cli import program_options as given
from trimtab.cli import workspace
from trimtab.cli.alone import alone_in
from trimtab.cli.debloat_options import (
    FallbackOption,
    For,
    GpuOption,
    KeepLibraryOption,
    KeepOption,
    KeepPathsOption,
    KernelsOption,
    ModeOption,
    OldFilesOption,
    OldUnloadedOption,
    PackageDatabaseOption,
    RemoveOption,
    Runs,
    SettleOption,
    ShareOption,
    StartUpOnlyOption,
    StoreAddressOption,
    StoreOption,
    SymbolsOption,
)
from trimtab.cli.doctor import doctor
from trimtab.cli.format_settling import format_risk
from trimtab.cli.image.command import image
from trimtab.cli.output.command_group import CommandGroup
from trimtab.cli.output.console import speaker
from trimtab.cli.output.progress_lines import LIBRARIES
from trimtab.cli.overview import GIVEN_ALWAYS, options_of_all
from trimtab.cli.project.new import new
from trimtab.cli.project.run import run
from trimtab.cli.result_lines import say_result
from trimtab.cli.results.check import check
from trimtab.cli.results.compare import compare
from trimtab.cli.single_steps import schedule as queue_cli
from trimtab.cli.single_steps.forgetting import forget_in, say_what_came_back
from trimtab.cli.single_steps.learning import SlimFolder
from trimtab.cli.single_steps.spans import locate, reconstruct
from trimtab.cli.single_steps.trace import trace
from trimtab.cli.steps import (
    WORKSPACE,
    WorkspaceOption,
    debloat_options,
    how_far,
    settling_bar,
    traced,
)
from trimtab.cli.summary import (
    format_missed,
    held_out_table,
)
from trimtab.cli.tuning.command import tune
from trimtab.config.groups.debloat import (
    Fallback,
    Gpu,
    Kernels,
    Mode,
    PackageDatabase,
    Share,
    StartUpOnly,
    Symbols,
)
from trimtab.config.groups.workload import TargetConfig
from trimtab.debloating.verification.verify import NotJudgedError, VerificationError
from trimtab.errors import UserError, escape_control_characters
from trimtab.evaluation.outcome.read import outcome_in
from trimtab.progress import telling
from trimtab.records.verdict import Verdict

app = CommandGroup(**GIVEN_ALWAYS)
app.callback()(options_of_all)
app.add_typer(queue_cli.schedule, name="schedule")
app.add_typer(image, name="image")
app.command()(queue_cli.probe)
app.command()(new)
app.command()(run)
app.command()(check)
app.command()(compare)
app.command()(tune)
app.command()(trace)
app.command()(locate)
app.command()(reconstruct)
app.command()(doctor)


MaybeCommand = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- COMMAND", help="The program; without one only GPU code goes, by architecture."
    ),
]


@app.command()
@alone_in("folder")
def debloat(
    command: MaybeCommand = None,
    folder: WorkspaceOption = WORKSPACE,
    python: given.Python = None,
    target: given.Target = None,
    runs: Runs = 1,
    output: given.Output = None,
    compare: given.Compare = None,
    relative_tolerance: given.RelativeTolerance = 0.0,
    absolute_tolerance: given.AbsoluteTolerance = 0.0,
    compare_command: given.CompareCommand = None,
    ends_with: given.EndsWith = None,
    timeout_s: given.TimeoutS = 3600.0,
    drive: given.Drive = None,
    ready: given.Ready = None,
    address: given.Address = None,
    stop: given.Stop = "SIGTERM",
    user: given.User = None,
    mode: ModeOption = Mode.COMPACT,
    symbols: SymbolsOption = Symbols.STRIP,
    gpu: GpuOption = Gpu.USED,
    kernels: KernelsOption = Kernels.KEEP,
    start_up_only: StartUpOnlyOption = StartUpOnly.KEEP,
    gpus: For = None,
    remove: RemoveOption = None,
    files: OldFilesOption = None,
    unloaded: OldUnloadedOption = None,
    keep: KeepOption = None,
    keep_paths: KeepPathsOption = None,
    keep_library: KeepLibraryOption = None,
    package_database: PackageDatabaseOption = PackageDatabase.KEEP,
    share: ShareOption = Share.AUTO,
    fallback: FallbackOption = Fallback.ORIGINAL,
    store: StoreOption = None,
    store_address: StoreAddressOption = None,
    settle: SettleOption = 5,
) -> None:
    """Trace COMMAND, then make its slim environment: WORKSPACE/env/bin/python runs it.

    It is run and made again until it misses nothing, --settle times in a row.

    Without COMMAND nothing is run: with --python ENV/bin/python --gpu architecture --for 9.0 all
    GPU code leaves the environment that GPUs of compute capability 9.0 cannot load.
    """
    program = given.ProgramOptions(
        python=python, target=target, output=output, compare=compare,
        relative_tolerance=relative_tolerance, absolute_tolerance=absolute_tolerance,
        compare_command=compare_command, ends_with=ends_with, timeout_s=timeout_s,
        drive=drive, ready=ready, address=address, stop=stop, user=user,
    )  # fmt: skip
    options = debloat_options(
        mode=mode, symbols=symbols, gpu=gpu, kernels=kernels, start_up_only=start_up_only,
        **how_far(remove, files, unloaded, has_program=bool(command)),
        keep=keep or [], keep_paths=keep_paths or [],
        keep_libraries=keep_library or [],
        package_database=package_database, share=share, fallback=fallback, store=store,
        store_address=store_address,
    )  # fmt: skip
    if command:
        traced(folder, command, program, runs, keep_library or [])
    elif gpu == Gpu.ARCHITECTURE and (python or target):
        workspace.list_libraries(folder, python, target or TargetConfig())
    else:
        raise UserError(
            "give the program after --, as in `trimtab debloat -- python program.py`; or"
            " --gpu architecture and --python or --target"
        )
    with (
        speaker.bars("making and settling the slim environment") as progress,
        telling(speaker.notes.print),
    ):
        task = progress.add_task("building", total=None, unit=LIBRARIES)
        settling = workspace.debloat(
            folder,
            options,
            gpus or [],
            settle,
            lambda name, done, total: progress.update(task, completed=done, total=total),
            settling_bar(progress, settle),
        )
    if mode == Mode.PUNCH and fallback != Fallback.NONE:
        speaker.notes.print("no fallback with mode punch: a call into removed code is a crash")
    say_result(folder, settling)
    speaker.path(folder / "env")
    speaker.result(outcome_in(folder).to_json())


@app.command()
@alone_in("folder")
def learn(
    folder: WorkspaceOption = WORKSPACE,
    repeats: Annotated[int, typer.Option(min=1, help="Runs in the slim environment.")] = 5,
    record: Annotated[
        Path | None,
        typer.Option(help="What a fallback recorded, as fallback.jsonl; nothing is run then."),
    ] = None,
    forget: Annotated[
        bool,
        typer.Option(
            "--forget",
            help="Put the environment back to what was delivered: files that came back since go"
            " again. Nothing is run, and nothing kept.",
        ),
    ] = False,
) -> None:
    """Keep what the slim environment misses: in runs of the program, or as --record tells.

    --workspace is that of `trimtab debloat`, whose environment is made again with what was missed,
    or results/debloat/TARGET/HARDWARE of an experiment, which the workflow makes again.
    """
    if forget and record:
        raise UserError("--forget keeps nothing: expected it without --record")
    if forget:
        came_back = forget_in(folder)
        speaker.notes.print(f"{came_back}; they are removed again")
        speaker.path(folder / "env")
        speaker.result({"removed_files": came_back.files, "removed_bytes": came_back.disk_bytes})
        return
    say_what_came_back(folder)
    slim = SlimFolder(folder)
    if record:
        with speaker.step("making the environment again"):
            missed = slim.learn_from_record(record)
    else:
        with speaker.bars("running it in the slim environment") as progress:
            missed = slim.learn_from_runs(repeats, settling_bar(progress, repeats))
    speaker.notes.print(
        f"{missed:,} removed pieces were missed" + (": kept from now on" if missed else "")
    )
    if missed and not slim.is_workspace:
        speaker.notes.print("run the workflow again to have them: `snakemake --cores all debloat`")
    changed = slim.environment if slim.is_workspace else slim.learned
    speaker.path(changed)
    speaker.result({"missed": missed, "learned": slim.learned, "changed": changed})


@app.command()
@alone_in("folder")
def verify(
    folder: WorkspaceOption = WORKSPACE,
    repeats: Annotated[int, typer.Option(min=1, help="Runs in each environment.")] = 5,
    held_out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help="A command with another input, which was not profiled (of a server: that drives"
            " it): what it misses is told. May be given several times.",
        ),
    ] = None,
) -> None:
    """Run the debloated program again in both environments and compare what it does.

    Ends with 1 where the program, or a held-out input, does something else in the slim environment,
    and with 2 where one cannot be judged: it fails in the original, or varies there.
    """
    commands = [given.words("--held-out", text) for text in held_out or []]
    try:
        with speaker.step(f"verifying: {repeats} runs in each environment"):
            path = workspace.verify(folder, repeats, commands)
    except VerificationError:
        verdict = Verdict.read(folder / "failure/verify.json")
        speaker.result(verdict.to_json())
        _tell_held_out(verdict)
        raise
    except NotJudgedError:
        verdict = Verdict.read(folder / "verify.json")
        speaker.result(verdict.to_json())
        _tell_held_out(verdict)
        raise
    verdict = Verdict.read(path)
    [verified] = verdict.workloads
    end = f", which {verified.ended}" if verified.ended else ""
    speaker.notes.print(f"equal output in every run{end}", style="green")
    say_what_came_back(folder)
    if verified.risk is not None:
        clean = f"{verified.clean_runs} of {verified.slim_runs} runs missed nothing"
        speaker.notes.print(f"{clean}; {format_risk(verified.risk)}", soft_wrap=True)
    if verdict.machine and verdict.machine.busy:
        said = f"the machine was busy: {verdict.machine.busy}; measure again when it is idle"
        speaker.notes.print(said, style="yellow", soft_wrap=True)
    if missed := verdict.missed_files:
        said = f"{len(missed):,} removed files were looked for: {missed[0]}"
        speaker.notes.print(said, soft_wrap=True)
    _tell_held_out(verdict)
    speaker.path(path)
    speaker.result(verdict.to_json())


def _tell_held_out(verdict: Verdict) -> None:
    if verdict.held_out:
        speaker.notes.print(held_out_table(verdict.held_out))
        for words in format_missed(verdict.held_out):
            speaker.notes.print(Text(escape_control_characters(words)), soft_wrap=True)
