"""`trimtab schedule simulate`: an operator's own jobs under several policies."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from trimtab.cli.output.console import console
from trimtab.cli.project.conf import configurations
from trimtab.cli.single_steps.queue_options import (
    Carbon,
    CheckpointTimes,
    FileFormat,
    NodePrice,
    Nodes,
    PreemptTiers,
    Price,
    SpotNodes,
)
from trimtab.cli.single_steps.schedule import Conf, schedule
from trimtab.cli.workspace_lock import alone_in
from trimtab.config.groups.hardware import Hardware
from trimtab.errors import UserError, escape_control_characters
from trimtab.extras import extra_of
from trimtab.installation import how_to_add
from trimtab.records.batch.comparison import (
    RECORDED,
    PolicyOutcome,
    QueueComparison,
    format_duration,
)

if TYPE_CHECKING:
    from trimtab.batch.operation import Operation
    from trimtab.batch.policies.base import BatchPolicy
    from trimtab.batch.readers.read import ReadJobs
    from trimtab.batch.sleep import Sleep
    from trimtab.clusters.cluster import Cluster

_DEFAULT = "fcfs,easy"
# Over each other, for narrow terminals.
_WAITS = (
    "mean\nwait",
    "95 %\nwait",
    "longest\nwait",
    "mean\nresponse",
    "95 %\nresponse",
    "mean\nbounded\nslowdown",
)


@schedule.command(
    common=(
        "jobs", "nodes", "policy", "output", "price", "carbon", "sleep_after", "autoscale",
        "power_cap_kw", "images",
    )
)  # fmt: skip
@alone_in("output")
def simulate(
    jobs: Annotated[
        Path,
        typer.Argument(
            metavar="JOBS",
            help="What a batch system says of its jobs: CSV, `sacct -P`, SWF, Kubernetes' JSON ...",
        ),
    ],
    nodes: Nodes = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Policies, as fcfs,easy,heats:energy_weight=0.5,./mine.py. By default"
            f" {_DEFAULT}, and heats for several types of node of known power.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("trimtab_schedule"),
    file_format: FileFormat = None,
    price: Price = None,
    carbon: Carbon = None,
    sleep_after: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Idle nodes sleep after this.")
    ] = None,
    autoscale: Annotated[
        str | None,
        typer.Option(
            metavar="BOOT_S:IDLE_S",
            help="Nodes are off until jobs need them, and off again when idle; or"
            " TYPE=BOOT_S:IDLE_S,...",
        ),
    ] = None,
    node_price: NodePrice = None,
    power_cap_kw: Annotated[
        float | None,
        typer.Option(metavar="KW", min=0, help="Jobs wait where all nodes would draw more."),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Start-up times: a CSV of image, cold_start_s, warm_start_s and bytes.",
        ),
    ] = None,
    warm_up: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Of the first jobs, and of the last, whose waits do not count."
        ),
    ] = 0.05,
    checkpoint: CheckpointTimes = None,
    spot: SpotNodes = None,
    preempt: PreemptTiers = None,
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
    from trimtab.batch.comparing import compare_policies
    from trimtab.batch.curves import read_curve
    from trimtab.batch.interruptions.checkpoints import parse_checkpoint
    from trimtab.batch.interruptions.preemption import parse_preempt
    from trimtab.batch.interruptions.spot import parse_spot
    from trimtab.batch.readers.read import read_jobs
    from trimtab.batch.throughputs import read_throughputs

    with console.step(f"reading {escape_control_characters(str(jobs))}"):
        read = read_jobs(jobs, file_format)
    cluster = cluster_of(jobs, read, nodes, conf)
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
            operation=_operation(cluster, autoscale, node_price, power_cap_kw, images),
            warm_up=warm_up,
            checkpoint=None if checkpoint is None else parse_checkpoint(checkpoint),
            spots=[] if spot is None else parse_spot(spot, cluster),
            seed=seed,
            preemption=None if preempt is None else parse_preempt(preempt, read.jobs),
            throughputs=None if throughputs is None else read_throughputs(throughputs),
            **curves,
        )
    console.answer(_waits(document))
    console.answer(_use(document))
    if (operated := _operation_table(document)).columns:
        console.answer(operated)
    for sentence in document.sentences():
        console.notes.print(Text(escape_control_characters(sentence)), soft_wrap=True)
    console.notes.print(Text(f"written: {written_report(_report, output)}"), soft_wrap=True)
    console.result({**document.to_json(), "folder": output})


def cluster_of(jobs: Path, read: "ReadJobs", nodes: str | None, conf: Path | None) -> "Cluster":
    """Return the cluster of `nodes`, or that of the file; UserError suggests one for neither."""
    from trimtab.batch.demands import largest_demand, suggested_nodes
    from trimtab.batch.nodes import parse_nodes

    if nodes is None and read.cluster is not None:
        return read.cluster
    if nodes is None:
        raise UserError(
            f"{jobs}: does not say how large the machine is; {largest_demand(read.jobs)}; expected"
            f" --nodes TYPE:COUNT,..., such as --nodes {suggested_nodes(read.jobs)}"
        )

    known = cache(partial(configurations, conf))

    def hardware(name: str) -> Hardware:
        machine: Hardware = known().option("hardware", name)
        return machine

    return parse_nodes(nodes, hardware)


def _suits_heats(cluster: "Cluster") -> bool:
    from trimtab.batch.comparing import has_power

    return len(cluster.node_types) > 1 and all(map(has_power, cluster.node_types))


def _sleep(after_s: float | None) -> "Sleep | None":
    from trimtab.batch.sleep import Sleep

    return None if after_s is None else Sleep(after_s)


def _operation(
    cluster: "Cluster",
    autoscale: str | None,
    node_price: str | None,
    power_cap_kw: float | None,
    images: Path | None,
) -> "Operation":
    from trimtab.batch.images import read_images
    from trimtab.batch.operation import Operation
    from trimtab.batch.sleep import parse_autoscale, parse_node_prices

    return Operation(
        autoscale=None if autoscale is None else parse_autoscale(autoscale, cluster),
        power_cap_w=None if power_cap_kw is None else 1000 * power_cap_kw,
        images=None if images is None else read_images(images),
        node_prices=None if node_price is None else parse_node_prices(node_price, cluster),
    )


def _policies(asked: str) -> "dict[str, BatchPolicy]":
    from trimtab.batch.policies.registry import build_batch_policy

    built: dict[str, BatchPolicy] = {}
    for text in asked.split(","):
        name, policy = build_batch_policy(text.strip())
        if name in built:
            raise UserError(f"--policy {asked}: {name} twice; expected each policy once")
        built[name] = policy
    return built


def written_report(write: Callable[[Path], Path], output: Path) -> str:
    """Write a report into `output`; return what was written, in words."""
    try:
        return str(write(output))
    except ModuleNotFoundError as error:
        if (extra := extra_of(error)) is None:
            raise
        needs = f"{error.name} is not installed; it needs: {how_to_add(extra)}"
        return f"{output}, without a report, as {needs}"


def _report(folder: Path) -> Path:
    from trimtab.evaluation.queue.page import write_queue_report

    return write_queue_report(folder)


def _waits(document: QueueComparison) -> Table:
    """Return the table of how long jobs wait and take."""
    table = _table(_WAITS)
    rows = {} if document.recorded is None else {RECORDED: document.recorded}
    for name, waits in {**rows, **{each.policy: each.waits for each in document.policies}}.items():
        every = waits.every
        times = (
            every.mean_wait_s,
            every.p95_wait_s,
            every.longest_wait_s,
            every.mean_response_s,
            every.p95_response_s,
        )
        slowdown = _number(every.mean_bounded_slowdown)
        table.add_row(_shown(name), *map(format_duration, times), slowdown)
    return table


def _use(document: QueueComparison) -> Table:
    """Return the table of what the nodes do."""
    outcomes = document.policies
    columns = {
        "makespan": [format_duration(each.makespan_s) for each in outcomes],
        "cores\n%": _cells([100 * each.cpu_share for each in outcomes]),
        "GPUs\n%": _cells([each.gpu_share and 100 * each.gpu_share for each in outcomes]),
        "kWh": _cells([each.energy_kwh for each in outcomes]),
        "EUR": _cells([each.cost_eur for each in outcomes]),
        "kg\nCO2e": _cells([each.carbon_kg for each in outcomes]),
    }
    known = {name: cells for name, cells in columns.items() if cells}
    table = _table(known)
    for each, *cells in zip(outcomes, *known.values(), strict=True):
        table.add_row(_shown(each.policy), *cells)
    return table


def _operation_table(document: QueueComparison) -> Table:
    """Return the table of deadlines, power, start-ups and rented nodes; empty if none applies."""
    outcomes, table = document.policies, Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    columns = {name: cells for name, cells in _operated(outcomes).items() if cells}
    if not columns:
        return table
    table.add_column("policy", overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for number, each in enumerate(outcomes):
        shown = Text(escape_control_characters(each.policy))
        table.add_row(shown, *(cells[number] for cells in columns.values()))
    return table


def _operated(outcomes: list[PolicyOutcome]) -> dict[str, list[str]]:
    """Return the columns about deadlines, start-ups and rented nodes."""
    deadlines = [each.deadlines for each in outcomes]
    uses = [each.node_use for each in outcomes]
    starts = [each.startups for each in outcomes]
    stops = [each.interruptions for each in outcomes]
    return {
        "late\n%": _cells([100 * each.late_share if each else None for each in deadlines]),
        "mean\ntardiness": [format_duration(each.mean_tardiness_s) for each in deadlines if each],
        "cold\nstarts": [f"{each.cold_starts:,}" for each in starts if each],
        "start-up\ntime": [format_duration(each.startup_s) for each in starts if each],
        "interrup-\ntions": [f"{each.count:,}" if each else "" for each in stops if any(stops)],
        "lost\ncore h": _cells([each.lost_core_h if each else None for each in stops]),
        "lost\nGPU h": _cells([each.lost_gpu_h if each else None for each in stops]),
        "node\nhours": _cells([each.hours if each else None for each in uses]),
        "nodes\nEUR": _cells([each.cost_eur if each else None for each in uses]),
    }


def _table(columns: Iterable[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("policy", overflow="fold", min_width=len(RECORDED))
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _shown(policy: str) -> Text:
    return Text(escape_control_characters(policy))


def _cells(values: list[float | None]) -> list[str]:
    """Return numbers as shown; nothing if none is known."""
    if all(value is None for value in values):
        return []
    return ["" if value is None else _number(value) for value in values]


def _number(value: float) -> str:
    size = abs(value)
    return f"{value:,.{2 if size < 10 else 1 if size < 1000 else 0}f}"
