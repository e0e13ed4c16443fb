"""`trimtab advanced probe` and `trimtab schedule run`: real tasks on this machine."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from trimtab.cli.output.command_group import CommandGroup
from trimtab.cli.output.console import console
from trimtab.cli.overview import VERBS
from trimtab.cli.project.conf import configurations
from trimtab.cli.workspace_lock import alone_in
from trimtab.config.groups.hardware import Hardware
from trimtab.errors import UserError
from trimtab.records.parquet.files import write_table
from trimtab.records.summary import QueueRun
from trimtab.records.tables import ALLOCATIONS, SCHEDULED

if TYPE_CHECKING:
    from pandas import DataFrame

    from trimtab.execution.history import JobOutcome
    from trimtab.execution.queue_file import QueueFile
    from trimtab.policies.base import Policy

schedule = CommandGroup(help=VERBS["schedule"], no_args_is_help=True)

Conf = Annotated[
    Path | None,
    typer.Option(help="The folder of configurations; by default conf, before trimtab's own."),
]
Machine = Annotated[
    str, typer.Option("--hardware", help="A file in conf/hardware/: the power model.")
]


def probe(
    name: Annotated[str, typer.Argument(help="Name of the hardware, and of its file.")],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND", help="Your own task; {cores} and {work} are replaced."
        ),
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="A probing task; by default all that are shipped.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The YAML to write; by default conf/hardware/NAME.yaml.")
    ] = None,
    hardware: Machine = "this_machine",
    conf: Conf = None,
    models: Annotated[
        bool, typer.Option("--models", help="Time models, too: by them rooflines are corrected.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Run tasks at every number of cores and store what they took as a hardware YAML."""
    from trimtab.execution import probing
    from trimtab.profiling.profile import model_of
    from trimtab.tuning.inference import model_times

    machine = _machine(conf, hardware)
    path = output or (conf or Path("conf")) / "hardware" / f"{name}.yaml"
    tasks = task if task is not None else [] if command else list(probing.NAMES)
    timed = configurations(conf).options("workload", model_times.WORKLOADS) if models else []
    with (
        console.step("probing: every task at every number of cores"),
        TemporaryDirectory(prefix="trimtab-probe-") as folder,
    ):
        document = probing.probe(
            name,
            path,
            hardware=model_of(machine),
            tasks=tasks,
            commands={Path(command[0]).stem: command} if command else None,
            models=partial(model_times.model_times, timed, Path(folder)) if models else None,
            overwrite=overwrite,
        )
    table = Table("task", "cores", "work", "level", "run time, s", "energy, J")
    for row in document["probes"]:
        table.add_row(
            row["task"], str(row["cores"]), str(row["work"]), str(row.get("level", 0)),
            f"{row['wall_s']:.2f}", f"{row['energy_j']:.1f}",
        )  # fmt: skip
    console.notes.print(table)
    if "rooflines" in document:
        reached = Table("cores", "GFLOP/s", "GB/s", "a call, us")
        for row in document["rooflines"]:
            reached.add_row(*(f"{value:g}" for value in row.values()))
        console.notes.print(reached)
    if "models" in document:
        took = Table("model", "batch size", "cores", "a batch, s")
        for row in document["models"]:
            took.add_row(*map(str, row.values()))
        console.notes.print(took)
    console.path(path)
    console.result({"path": path, "hardware": document})


@schedule.command()
@alone_in("output")
def run(
    queue: Annotated[Path, typer.Argument(help="YAML with the keys classes and jobs.")],
    policy: Annotated[str, typer.Option(help="A file in conf/policy/.")] = "non_preemptive",
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("trimtab_queue"),
    slots: Annotated[int, typer.Option(min=1, help="On Spark: tasks that run at a time.")] = 2,
    hardware: Machine = "this_machine",
    conf: Conf = None,
) -> None:
    """Run the commands of QUEUE for real, one at a time, under a policy such as DiAS.

    If the classes of QUEUE name Python programs, the jobs are these, on Apache Spark.
    """
    from trimtab.execution.dispatch_policy import check_drives, machine_facts
    from trimtab.execution.local.dispatch import run_commands
    from trimtab.execution.queue_file import read_queue
    from trimtab.policies.registry import build_policy
    from trimtab.profiling.profile import model_of

    given = read_queue(queue)
    chosen = configurations(conf).option("policy", policy)
    built = build_policy(chosen.kind, chosen.parameters, machine_facts(given.priorities))
    check_drives(built, chosen, given.priorities)
    if given.programs:
        outcome = _on_spark(given, built, slots)
    else:
        outcome = run_commands(
            given.jobs,
            built,
            log_dir=output / "logs",
            on_event=_tell,
            hardware=model_of(_machine(conf, hardware)),
        )
    output.mkdir(parents=True, exist_ok=True)
    write_table(output / "allocations.parquet", ALLOCATIONS, outcome.allocations)
    ended = QueueRun(
        policy=policy,
        sprinter=outcome.sprinter,
        energy=outcome.energy,
        exit_codes=dict(outcome.exit_codes),
    )
    ended.write(output / "queue.json")
    write_table(output / "jobs.parquet", SCHEDULED, outcome.jobs)
    table = Table("class", "jobs", "mean response, s", "wasted, s", "evictions", "dropped tasks")
    classes = _by_class(outcome.jobs)
    for name, of in classes.items():
        table.add_row(
            name, str(of["jobs"]), f"{of['mean_response_s']:.2f}", f"{of['wasted_s']:.2f}",
            str(of["evictions"]), str(of["dropped_tasks"]),
        )  # fmt: skip
    console.notes.print(table)
    console.notes.print(f"sprinting: {outcome.sprinter}; energy: {outcome.energy}")
    console.path(output / "jobs.parquet")
    document = ended.model_dump(mode="json", exclude={"version"})
    console.result({**document, "jobs": output / "jobs.parquet", "classes": classes})
    failed = [job for job, code in outcome.exit_codes.items() if code]
    if failed:
        numbers = ", ".join(str(job) for job in failed)
        raise UserError(f"jobs {numbers} failed: what they wrote is in {output / 'logs'}")


def _tell(at_s: float, what: str, job: int) -> None:
    console.notes.print(f"{at_s:8.2f} s  job {job}  {what}")


def _by_class(jobs: "DataFrame") -> dict[str, dict[str, Any]]:
    return {
        str(name): {
            "jobs": len(group),
            "mean_response_s": float(group["response_s"].mean()),
            "wasted_s": float(group["wasted_s"].sum()),
            "evictions": int(group["evictions"].sum()),
            "dropped_tasks": int(group["dropped_tasks"].sum()),
        }
        for name, group in jobs.groupby("job_class", observed=True)
    }


def _on_spark(queue: "QueueFile", policy: "Policy", slots: int) -> "JobOutcome":
    from trimtab.execution.spark.queue import load_programs, run_programs
    from trimtab.spark.session import spark_session

    with (
        TemporaryDirectory(prefix="trimtab-spark-") as folder,
        console.step(f"{len(queue.jobs)} jobs on Spark"),
        spark_session(Path(folder), slots) as session,
    ):
        return run_programs(session, load_programs(session, queue), queue, policy)


def _machine(conf: Path | None, name: str) -> Hardware:
    machine: Hardware = configurations(conf).option("hardware", name)
    return machine
