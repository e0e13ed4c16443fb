"""`trimtab schedule simulate`: an operator's own jobs under several policies."""

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from trimtab.cli.output.console import console
from trimtab.cli.project.conf import configurations
from trimtab.cli.single_steps.schedule import Conf
from trimtab.cli.workspace_lock import alone_in
from trimtab.config.groups.hardware import Hardware
from trimtab.errors import UserError, escape_control_characters
from trimtab.extras import extra_of
from trimtab.installation import how_to_add
from trimtab.records.batch.comparison import (
    RECORDED,
    QueueComparison,
    WaitFigures,
    format_duration,
)

if TYPE_CHECKING:
    from trimtab.batch.model import Sleep
    from trimtab.batch.policies.base import BatchPolicy
    from trimtab.batch.readers.read import ReadJobs
    from trimtab.clusters.cluster import Cluster

_DEFAULT = "fcfs,easy"
# Over each other, for narrow terminals.
_COLUMNS = (
    "mean\nwait",
    "95 %\nwait",
    "longest\nwait",
    "mean\nbounded\nslowdown",
    "makespan",
    "cores\n%",
)
_CURVE = "or a CSV of times and values."


@alone_in("output")
def simulate(
    jobs: Annotated[
        Path,
        typer.Argument(
            metavar="JOBS",
            help="What a batch system says of its jobs: CSV, `sacct -P`, SWF, Kubernetes' JSON ...",
        ),
    ],
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="The nodes, as gpu_a40:4,64c256g:10,32c128g8gpu:2: files in conf/hardware/ or"
            " shapes. By default the size that JOBS has.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Policies, as fcfs,easy,heats:energy_weight=0.5,./mine.py. By default"
            f" {_DEFAULT}, and heats for several types of node of known power.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("trimtab_schedule"),
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="The format of JOBS, as sacct; by default by its content.",
        ),
    ] = None,
    price: Annotated[
        str | None, typer.Option(metavar="CURVE", help=f"EUR/kWh: a number, {_CURVE}")
    ] = None,
    carbon: Annotated[
        str | None, typer.Option(metavar="CURVE", help=f"gCO2e/kWh: a number, {_CURVE}")
    ] = None,
    sleep_after: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Idle nodes sleep after this.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="INTERVAL:COST[:RESTART]",
            help="Seconds between checkpoints, of one, and of a restart; columns of JOBS override.",
        ),
    ] = None,
    spot: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE=RATE[:BACK_AFTER_S],...",
            help="Nodes that are reclaimed at random, at this rate a node and hour.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --spot.")] = 1,
    throughputs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.csv", help="Columns model, gpu_type, steps_per_s; gavel is shipped."
        ),
    ] = None,
    conf: Conf = None,
) -> None:
    """Simulate the jobs of a batch system under several policies: waits, slowdowns, energy."""
    from trimtab.batch.checkpoints import parse_checkpoint
    from trimtab.batch.comparing import compare_policies
    from trimtab.batch.curves import read_curve
    from trimtab.batch.readers.read import read_jobs
    from trimtab.batch.spot import parse_spot
    from trimtab.batch.throughputs import read_throughputs

    with console.step(f"reading {escape_control_characters(str(jobs))}"):
        read = read_jobs(jobs, file_format)
    cluster = _cluster(jobs, read, nodes, conf)
    several = f"{_DEFAULT},heats" if _suits_heats(cluster) else _DEFAULT
    policies = _policies(several if policy is None else policy)
    curves = {
        name: None if given is None else read_curve(given, read.first_submission)
        for name, given in (("price", price), ("carbon", carbon))
    }
    number = "1 job" if len(read.jobs) == 1 else f"{len(read.jobs):,} jobs"
    with console.step(f"simulating {number}: {', '.join(policies)}"):
        document = compare_policies(
            jobs,
            read,
            cluster,
            policies,
            output,
            sleep=_sleep(sleep_after),
            checkpoint=None if checkpoint is None else parse_checkpoint(checkpoint),
            spots=[] if spot is None else parse_spot(spot, cluster),
            seed=seed,
            throughputs=None if throughputs is None else read_throughputs(throughputs),
            **curves,
        )
    console.answer(_table(document))
    for sentence in document.sentences():
        console.notes.print(Text(escape_control_characters(sentence)), soft_wrap=True)
    console.notes.print(Text(f"written: {_report(output)}"), soft_wrap=True)
    console.result({**document.to_json(), "folder": output})


def _cluster(jobs: Path, read: "ReadJobs", nodes: str | None, conf: Path | None) -> "Cluster":
    from trimtab.batch.comparing import largest_demand, suggested_nodes
    from trimtab.batch.nodes import parse_nodes, pool_of

    if nodes is None and read.cores is not None:
        return pool_of(read.cores)
    if nodes is None:
        raise UserError(
            f"{jobs}: does not say how large the machine is; {largest_demand(read.jobs)}; expected"
            f" --nodes TYPE:COUNT,..., such as --nodes {suggested_nodes(read.jobs)}"
        )

    known = cache(partial(configurations, conf))  # takes a second; shapes need none

    def hardware(name: str) -> Hardware:
        machine: Hardware = known().option("hardware", name)
        return machine

    return parse_nodes(nodes, hardware)


def _suits_heats(cluster: "Cluster") -> bool:
    from trimtab.batch.comparing import has_power

    return len(cluster.node_types) > 1 and all(map(has_power, cluster.node_types))


def _sleep(after_s: float | None) -> "Sleep | None":
    from trimtab.batch.model import Sleep

    return None if after_s is None else Sleep(after_s)


def _policies(asked: str) -> "dict[str, BatchPolicy]":
    from trimtab.batch.policies.registry import build_batch_policy

    built: dict[str, BatchPolicy] = {}
    for text in asked.split(","):
        name, policy = build_batch_policy(text.strip())
        if name in built:
            raise UserError(f"--policy {asked}: {name} twice; expected each policy once")
        built[name] = policy
    return built


def _report(output: Path) -> str:
    """Write the report into `output`; return what was written, in words."""
    try:
        from trimtab.evaluation.queue.page import write_queue_report
    except ModuleNotFoundError as error:
        if (extra := extra_of(error)) is None:
            raise
        needs = f"{error.name} is not installed; it needs: {how_to_add(extra)}"
        return f"{output}, without a report, as {needs}"
    return str(write_queue_report(output))


def _table(document: QueueComparison) -> Table:
    outcomes = document.policies
    costs = [each.interruptions for each in outcomes]
    optional = {
        "GPUs\n%": _cells([each.gpu_share and 100 * each.gpu_share for each in outcomes]),
        "kWh": _cells([each.energy_kwh for each in outcomes]),
        "EUR": _cells([each.cost_eur for each in outcomes]),
        "kg\nCO2e": _cells([each.carbon_kg for each in outcomes]),
        "re-\nruns": _cells([None if each is None else float(each.count) for each in costs]),
        "lost\ncore\nh": _cells([None if each is None else each.lost_core_h for each in costs]),
    }
    optional = {name: cells for name, cells in optional.items() if cells}
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("policy", overflow="fold", min_width=len(RECORDED))
    for name in (*_COLUMNS, *optional):
        table.add_column(name, justify="right", no_wrap=True)
    if document.recorded is not None:
        table.add_row(RECORDED, *_waits(document.recorded.every))
    for number, each in enumerate(outcomes):
        table.add_row(
            Text(escape_control_characters(each.policy)),
            *_waits(each.waits.every),
            format_duration(each.makespan_s),
            f"{100 * each.cpu_share:.1f}",
            *(cells[number] for cells in optional.values()),
        )
    return table


def _waits(figures: WaitFigures) -> list[str]:
    times = (figures.mean_wait_s, figures.p95_wait_s, figures.longest_wait_s)
    return [*map(format_duration, times), _number(figures.mean_bounded_slowdown)]


def _cells(values: list[float | None]) -> list[str]:
    """Return numbers as shown; nothing if none is known."""
    if all(value is None for value in values):
        return []
    return ["" if value is None else _number(value) for value in values]


def _number(value: float) -> str:
    size = abs(value)
    return f"{value:,.{2 if size < 10 else 1 if size < 1000 else 0}f}"
