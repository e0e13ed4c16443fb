"""`trimtab tune`: the best parameters of a program, by trials that are told as they end."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from trimtab.cli.alone import alone_in
from trimtab.cli.claimed import claim
from trimtab.cli.terminal import Terminal, say_path
from trimtab.cli.tuning.program import TunedProgram
from trimtab.config import Configurations
from trimtab.config.groups.objective import Goal, Objective
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.profiling.profile import model_of

if TYPE_CHECKING:
    from trimtab.tuning.search import RungResult
    from trimtab.tuning.tune import Request

console = Terminal(stderr=True)
_SEED = 1
_TRIMTABS_OWN = Path(__file__).parents[4] / "conf"
_PANEL = "The program, where it is a command"


@alone_in("folder")
def tune(
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
            help="Of the kind model, training or system: 16,32,64 or 0.0001:0.1 or 0.0001:0.1:log.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    epochs: Annotated[
        str | None,
        typer.Option(
            metavar="LEAST:MOST",
            help="Until a trial is judged first, and at most.",
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
            help="What it reports of how good the model is: higher is better.",
            rich_help_panel=_PANEL,
        ),
    ] = "accuracy",
    epoch_mark: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Lines that end an epoch, with named groups for what is reported, where it does"
            " not call trimtab_trial.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    timeout_s: Annotated[
        float, typer.Option(help="A trial that takes longer has failed.", rich_help_panel=_PANEL)
    ] = 3600.0,
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
    objective: Annotated[str, typer.Option(help="A file in conf/objective/.")] = "accuracy",
    workers: Annotated[
        int, typer.Option(min=1, help="Trials at once, each on its share of the CPUs.")
    ] = 1,
    hardware: Annotated[
        str, typer.Option(help="The file in conf/hardware/ whose power model is used.")
    ] = "this_machine",
    conf: Annotated[
        Path | None,
        typer.Option(help="The folder of configurations: conf, or trimtab's own."),
    ] = None,
) -> None:
    """Search the best parameters of a program: it is trained again and again, as trials.

    Three lines have it report its epochs: `import trimtab_trial`, a loop that begins with
    trimtab_trial.first_epoch(), and trimtab_trial.epoch_end(epoch, accuracy=...) at its end.
    What ended early goes on where it was with the same command.
    """
    from trimtab.tuning.tune import Request

    configurations = Configurations(conf or _conf())
    is_command = bool(parameter) or len(program) > 1
    if is_command:
        given = TunedProgram(parameter or [], epochs, data_fraction, metric, epoch_mark, timeout_s)
        workload = given.workload(program)
    else:
        workload = _described(configurations, program[0])
    request = Request(
        workload=workload,
        tuner=configurations.option("tuner", tuner or _tuner_for(workload)),
        objective=configurations.option("objective", objective),
        hardware=model_of(configurations.option("hardware", hardware)),
        workers=workers,
        inference_workload=_inference_workload(configurations, workload),
        is_described=not is_command,
    )
    request.made(folder / "ground_truth.json")  # what is wrong is told before anything is written
    claim(folder)
    _search(request, folder / "tune", folder / "ground_truth.json")


def _search(request: "Request", folder: Path, ground_truth: Path) -> None:
    """Search once, telling the plan, the trials as they end, and the best."""
    from trimtab.tuning import tune as stage
    from trimtab.tuning.plan import plan_in_words

    made = request.made(ground_truth)
    console.print(f"{request.tuner.label or request.tuner.name}, for {request.objective.name}")
    for line in plan_in_words(list(made.brackets), made.fidelity):
        console.print(line, soft_wrap=True)
    rungs = sum(rung.trials for bracket in made.brackets for rung in bracket)
    told = _Told(request.objective, rungs)
    before = stage.Results(request.searches(folder) / f"seed_{_SEED}" / "results.jsonl").rows()
    for row in before:
        told.add(row["trial"], row["epochs"], row["data_fraction"], row["score"])
    if before:
        console.print(f"{len(before)} of {rungs} are there from before")

    def on_result(_: int, result: "RungResult") -> None:
        # What was told just before a process ended is judged again by the next one.
        if (line := told.line(result)) is not None:
            console.print(line, soft_wrap=True)

    stage.tune(request, [_SEED], folder, ground_truth, on_result)
    console.print(_best_of(folder / "best.yaml", request))
    say_path(folder / "best.yaml")


class _Told:
    """What has been told of a search: its best is that of the most training, as in best.yaml."""

    def __init__(self, objective: Objective, rungs: int) -> None:
        self._sign = 1.0 if objective.goal == Goal.MAXIMISE else -1.0
        self._rungs, self._done = rungs, set[tuple[int, int, float]]()
        self._best: tuple[tuple[int, float], float, int] | None = None

    def add(self, trial: int, epochs: int, data_fraction: float, score: float | None) -> None:
        """Take in what a trial came to; None is a failure."""
        self._done.add((trial, epochs, data_fraction))
        if score is not None:
            found = ((epochs, data_fraction), score, -trial)
            self._best = found if self._best is None else max(self._best, found)

    def line(self, result: "RungResult") -> str | None:
        """Take in a result, and return what is said of it; None where it was told before."""
        score = result.result if isinstance(result.result, float) else None
        budget = result.budget
        if (result.trial, budget.epochs, budget.data_fraction) in self._done:
            return None
        self.add(result.trial, budget.epochs, budget.data_fraction, score)
        trained = _budget_in_words(budget.epochs, budget.data_fraction)
        said = f"failed: {getattr(result.result, 'reason', '')}"
        if score is not None:
            said = f"{self._sign * score:.4g} in {result.training_s:.1f} s"
        line = f"[{len(self._done)}/{self._rungs}] trial {result.trial}, {trained}: {said}"
        if self._best is None:
            return line
        most, best, trial = self._best
        of = f"trial {-trial}, {_budget_in_words(*most)}"
        return f"{line}; best so far {self._sign * best:.4g} ({of})"


def _budget_in_words(epochs: int, data_fraction: float) -> str:
    share = "" if data_fraction == 1 else f" on {data_fraction:.0%}"
    return f"{epochs} epoch{'s' if epochs != 1 else ''}{share}"


def _best_of(path: Path, request: "Request") -> Table:
    """Return the table of what best.yaml says, and what its joules are."""
    from trimtab.tuning.outputs import result_in

    table = Table("best", "")
    for name, value in _flat(result_in(path)):
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        table.add_row(name, shown)
    return table


def _flat(document: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for key, value in document.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{before}{key}.")
        else:
            rows.append((f"{before}{key}", value))
    return rows


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


def _tuner_for(workload: Workload) -> str:
    return "pipetune" if workload.tuning and workload.tuning.system else "tpe"


def _conf() -> Path:
    """Return the folder of configurations here, or trimtab's own: others have a `conf`, too."""
    here = Path("conf")
    return here if (here / "tuner").is_dir() else _TRIMTABS_OWN
