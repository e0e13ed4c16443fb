"""`trimtab tune`: searches the best parameters of a program, and reports trials as they end."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.output.console import console
from trimtab.cli.project.conf import configurations as configurations_of
from trimtab.cli.tuning.limits import limits_of
from trimtab.cli.tuning.objectives import objective_of
from trimtab.cli.tuning.program import TunedProgram
from trimtab.cli.tuning.report import search
from trimtab.cli.tuning.start_with import configurations_in
from trimtab.cli.tuning.trackers import tracker_of
from trimtab.cli.workspace_lock import alone_in
from trimtab.cli.workspace_mark import claim
from trimtab.config import Configurations
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.profiling.profile import model_of

_PANEL = "The program, where it is a command"
_LIMITS = "Where the search ends, if not before"
# Options of a command, by the corresponding keys of a workload.
_KEYS = {
    "epochs": "tuning.epochs",
    "forbid": "tuning.forbidden",
    "data_fraction": "tuning.data_fraction.least",
    "metric": "tuning.metric",
    "epoch_mark": "marks.epoch",
    "inference_command": "tuning.inference_workload",
    "timeout_s": "timeout_s",
    "python": "python",
}


@alone_in("folder")
def tune(
    context: typer.Context,
    program: Annotated[
        list[str],
        typer.Argument(
            metavar="WORKLOAD | -- COMMAND",
            help="A file in conf/workload/, or the program as you run it: it gets `--NAME VALUE`"
            " for each model and training parameter and `--epochs`, or has `{NAME}` in a word.",
        ),
    ],
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND.NAME=VALUES",
            help="Of the kind model, training, system or inference: 16,32,64 or 0.0001:0.1 or"
            " 0.0001:0.1:log; with ' if NAME=A,B', only beside these values of another.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE,NAME=VALUE",
            help="Values that no trial has together, as batch_size=512,precision=fp32.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    epochs: Annotated[
        str | None,
        typer.Option(
            metavar="LEAST:MOST",
            help="Epochs before a trial is first judged, and at most.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    data_fraction: Annotated[
        float | None,
        typer.Option(
            help="Least share of the data, given as --data-fraction; by default not given.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            help="The reported quality of the model. For a loss, choose an objective that minimises"
            " it.",
            rich_help_panel=_PANEL,
        ),
    ] = "accuracy",
    epoch_mark: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Matches the line that ends an epoch; named groups are its metrics. For programs"
            " that do not call trimtab_trial.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    inference_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="The program that uses the model, to tune inference as well. It gets `--NAME"
            " VALUE` for each model parameter and `--batch-size`, and reads its data with"
            " trimtab_trial.batches.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    timeout_s: Annotated[
        float, typer.Option(help="A trial that takes longer has failed.", rich_help_panel=_PANEL)
    ] = 3600.0,
    python: Annotated[
        Path | None,
        typer.Option(
            metavar="ENV/bin/python",
            help="The program's interpreter; by default that of the command.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    folder: Annotated[Path, typer.Option("--workspace", help="Where the results are kept.")] = Path(
        "trimtab_workspace"
    ),
    tuner: Annotated[
        str | None,
        typer.Option(
            help="A file in conf/tuner/; by default pipetune where there are system parameters,"
            " else tpe."
        ),
    ] = None,
    objective: Annotated[
        str,
        typer.Option(
            metavar="NAME[,NAME...]",
            help="A file in conf/objective/: accuracy, loss, accuracy_by_duration,"
            " accuracy_least_energy; of inference: time_by_accuracy, energy_by_accuracy. Several,"
            " as accuracy,time, give a Pareto front, of accuracy or loss, time, energy, memory,"
            " size (reported as size_bytes), inference_time, inference_energy; accuracy_and_time.",
        ),
    ] = "accuracy",
    bound: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Of several objectives: what best.yaml keeps at least, or at most of one to"
            " minimise, as accuracy=0.97. It has the front's trial nearest to the best of the"
            " objectives without a bound.",
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Trials at once, each on its share of the CPUs.")
    ] = 1,
    hardware: Annotated[
        str, typer.Option(help="A file in conf/hardware/: the power model.")
    ] = "this_machine",
    start_with: Annotated[
        Path | None,
        typer.Option(
            metavar="YAML",
            help="Configurations to try first: a best.yaml, or a list of parameters with values.",
        ),
    ] = None,
    learn_from: Annotated[
        Path | None,
        typer.Option(
            metavar="WORKSPACE",
            help="An earlier search of the program, by the same objectives: tpe learns from its"
            " trials. It needs another --workspace.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of configurations; by default as many as the tuner's brackets begin with.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Wall time, as 30m.", rich_help_panel=_LIMITS),
    ] = None,
    energy: Annotated[
        str | None,
        typer.Option(
            metavar="ENERGY", help="Joules of all trials, as 50kJ.", rich_help_panel=_LIMITS
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Trials trained to the end without a better score.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    track: Annotated[
        str | None,
        typer.Option(
            metavar="mlflow|wandb", help="Also record each trial there, as its variables say."
        ),
    ] = None,
    deploy: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Also write a folder that runs the best configuration without trimtab.",
        ),
    ] = None,
    slim: Annotated[
        bool, typer.Option("--slim", help="With --deploy: debloat the program's environment too.")
    ] = False,
    conf: Annotated[
        Path | None,
        typer.Option(help="The folder of configurations: conf, or trimtab's own."),
    ] = None,
) -> None:
    """Search a program's best parameters: it is trained again and again, as trials.

    Three lines have it report its epochs: `import trimtab_trial`, a loop that begins with
    trimtab_trial.first_epoch(), and trimtab_trial.epoch_end(epoch, accuracy=...) at its end.
    An interrupted search resumes with the same command.
    """
    from trimtab.cli.tuning.deploy import deployed
    from trimtab.cli.tuning.ignored_options import ignored_options
    from trimtab.tuning.deployment.folder import check_deployable
    from trimtab.tuning.inference.emulation import device_of
    from trimtab.tuning.tune import Request

    configurations = configurations_of(conf)
    is_command = bool(parameter) or len(program) > 1
    if is_command:
        given = TunedProgram(
            parameter or [], epochs, data_fraction, metric, epoch_mark, timeout_s,
            inference_command, None if python is None else _interpreter(python), forbid or [],
        )  # fmt: skip
        workload = given.workload(program)
        inference = given.inference_workload(workload)
    else:
        _refuse_options_of_commands(context, program[0])
        workload = _described(configurations, program[0])
        inference = _inference_workload(configurations, workload)
    machine = configurations.option("hardware", hardware)
    request = Request(
        workload=workload,
        tuner=configurations.option("tuner", tuner or _tuner_for(workload)),
        objective=objective_of(configurations, objective, bound or []),
        hardware=model_of(machine),
        workers=workers,
        inference_workload=inference,
        device=device_of(_inference_hardware(configurations, workload), machine),
        is_described=not is_command,
        start_with=() if start_with is None else configurations_in(start_with, workload),
        learn_from=None if learn_from is None else _trials_in(learn_from, folder),
        limits=limits_of(trials, time, energy, patience, _say_limit),
    )
    request.made(folder / "ground_truth.json")  # raises errors before anything is written
    if slim and deploy is None:
        raise UserError("--slim: expected --deploy FOLDER, which then has the slim environment")
    if deploy is not None:
        check_deployable(deploy)
    for warning in ignored_options(workload):
        console.notes.print(f"note: {warning}", style="yellow", soft_wrap=True)
    tracker = tracker_of(track, console.notes.print)
    claim(folder)
    found = search(request, folder / "tune", folder / "ground_truth.json", tracker)
    if deploy is not None:
        found["deployment"] = {"path": deployed(deploy, request, folder / "tune", slim=slim)}
    console.result(found)


def _refuse_options_of_commands(context: typer.Context, name: str) -> None:
    """Raise UserError for a given option that belongs into a workload's YAML."""
    for option, key in _KEYS.items():
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            raise UserError(
                f"--{option.replace('_', '-')} is for a command, given after -- with --parameter;"
                f" {name} is taken for a workload: set {key} in conf/workload/{name}.yaml"
            )


def _described(configurations: Configurations, name: str) -> Workload:
    workload: Workload = configurations.option("workload", name)
    if workload.tuning is None:
        raise UserError(
            f"conf/workload/{name}.yaml: no key `tuning`, which names what is tuned; add it, or"
            " give a command after -- and --parameter"
        )
    return workload


def _inference_workload(configurations: Configurations, workload: Workload) -> Workload | None:
    tuning = workload.tuning
    if tuning is None or tuning.inference_workload is None:
        return None
    return configurations.inference_workload(workload.name)


def _inference_hardware(configurations: Configurations, workload: Workload) -> Hardware | None:
    tuning = workload.tuning
    if tuning is None or tuning.inference_hardware is None:
        return None
    return configurations.inference_hardware(workload.name)


def _tuner_for(workload: Workload) -> str:
    return "pipetune" if workload.tuning and workload.tuning.system else "tpe"


def _interpreter(python: Path) -> Path:
    if not python.is_file():
        raise UserError(f"--python {python}: no such file; expected an interpreter")
    return python


def _trials_in(workspace: Path, own: Path) -> Path:
    """Return the table of trials of an earlier search; raises UserError for this one's."""
    if workspace.resolve() == own.resolve():
        raise UserError(
            f"--learn-from {workspace}: this search writes there; expected another --workspace"
        )
    return workspace / "tune" / "trials.parquet"


def _say_limit(limit: str) -> None:
    console.notes.print(f"the search ends early: {limit}", soft_wrap=True)
