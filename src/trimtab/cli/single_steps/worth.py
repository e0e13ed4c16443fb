"""`trimtab worth`: what slimming a cluster's images would be worth."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from trimtab.cli.output.console import console
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
from trimtab.cli.single_steps.schedule import Conf
from trimtab.cli.single_steps.simulate_queue import cluster_of, written_report
from trimtab.cli.workspace_lock import alone_in
from trimtab.errors import UserError, escape_control_characters
from trimtab.records.batch.worth import (
    SHOWN_FIRST,
    Setting,
    Worth,
    change_of,
    figure_name,
    format_bytes,
    format_figure,
)

if TYPE_CHECKING:
    from trimtab.batch.policies.base import BatchPolicy

_MOST_IMAGES, _MOST_FIGURES = 10, 5
_LONGEST_NAME = 22


@alone_in("output")
def worth(
    jobs: Annotated[
        Path,
        typer.Argument(
            metavar="JOBS",
            help="What a batch system says of its jobs: CSV, `sacct -P`, SWF, Kubernetes' JSON ...",
        ),
    ],
    images: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The images: a CSV of image and bytes, and of what is known of starts and slim"
            " images.",
        ),
    ],
    job_images: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Which image jobs use: a CSV of image, and patterns of name, user, group, queue.",
        ),
    ] = None,
    nodes: Nodes = None,
    policy: Annotated[
        str,
        typer.Option(
            metavar="NOW[,THEN]",
            help="The policy now, and one to compare as a further stage, as fcfs,easy.",
        ),
    ] = "easy",
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("trimtab_worth"),
    slim_share: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Assumed size of slim images that FILE does not know, such as 0.3.",
        ),
    ] = None,
    price: Price = None,
    carbon: Carbon = None,
    autoscale: Annotated[
        str | None,
        typer.Option(
            metavar="BOOT_S:IDLE_S",
            help="As a further stage, idle nodes are switched off until jobs need them.",
        ),
    ] = None,
    sleep_after: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0, help="As a further stage, idle nodes sleep after this."
        ),
    ] = None,
    node_price: NodePrice = None,
    egress_price: Annotated[
        float | None, typer.Option(metavar="EUR", min=0, help="EUR per GB that the registry sends.")
    ] = None,
    storage_price: Annotated[
        float | None,
        typer.Option(
            metavar="EUR",
            min=0,
            help="EUR per GB and month in the registry: slim images in place of originals.",
        ),
    ] = None,
    pull_mbit: Annotated[
        float,
        typer.Option(
            metavar="MBIT/S", min=0.001, help="How fast a node pulls, where no cold start is known."
        ),
    ] = 1000.0,
    registry_mbit: Annotated[
        float | None,
        typer.Option(
            metavar="MBIT/S",
            min=0.001,
            help="How fast the registry sends to all nodes together; by default, it is no limit.",
        ),
    ] = None,
    unpack_mb: Annotated[
        float,
        typer.Option(
            metavar="MB/S", min=0.001, help="How fast it unpacks, in MB of the compressed image."
        ),
    ] = 100.0,
    checkpoint: CheckpointTimes = None,
    spot: SpotNodes = None,
    preempt: PreemptTiers = None,
    file_format: FileFormat = None,
    conf: Conf = None,
) -> None:
    """Replay JOBS with slim images: what they save, how sure that is, and which to make first."""
    from trimtab.batch.curves import read_curve
    from trimtab.batch.interruptions.checkpoints import parse_checkpoint, with_checkpoints
    from trimtab.batch.interruptions.preemption import parse_preempt
    from trimtab.batch.interruptions.spot import parse_spot
    from trimtab.batch.operation import Operation
    from trimtab.batch.readers.read import read_jobs
    from trimtab.batch.sleep import Sleep, parse_autoscale, parse_node_prices
    from trimtab.worth.fleet_images import Assumed, read_fleet
    from trimtab.worth.job_images import map_images
    from trimtab.worth.replay import Prices
    from trimtab.worth.stages import Plan
    from trimtab.worth.weigh import weigh

    registry = math.inf if registry_mbit is None else registry_mbit
    assumed = Assumed(pull_mbit, unpack_mb, slim_share, registry)
    fleet = read_fleet(images, assumed)
    policies = _policies(policy)
    with console.step(f"reading {escape_control_characters(str(jobs))}"):
        read = read_jobs(jobs, file_format)
        if job_images is not None:
            read = replace(read, jobs=map_images(read.jobs, jobs, job_images))
        if checkpoint is not None:
            read = replace(read, jobs=with_checkpoints(read.jobs, parse_checkpoint(checkpoint)))
    cluster = cluster_of(jobs, read, nodes, conf)
    scaled = None if autoscale is None else parse_autoscale(autoscale, cluster)
    plan = Plan(
        fleet,
        policies,
        None if sleep_after is None else Sleep(sleep_after),
        Operation(autoscale=scaled),
        assumed,
        () if spot is None else tuple(parse_spot(spot, cluster)),
        None if preempt is None else parse_preempt(preempt, read.jobs),
    )
    prices = Prices(
        None if price is None else read_curve(price, read.first_submission),
        None if carbon is None else read_curve(carbon, read.first_submission),
        None if node_price is None else parse_node_prices(node_price, cluster),
        egress_price,
        storage_price,
    )
    with console.step(f"replaying {len(read.jobs):,} jobs"):
        document = weigh(jobs, read, cluster, plan, prices, output)
    _answer(document)
    for sentence in document.remarks:
        console.notes.print(Text(escape_control_characters(sentence)), soft_wrap=True)
    console.notes.print(Text(f"written: {written_report(_report, output)}"), soft_wrap=True)
    console.result({**document.to_json(), "folder": output})


def _policies(text: str) -> "tuple[BatchPolicy, BatchPolicy | None]":
    from trimtab.batch.policies.registry import build_batch_policy

    built = dict(build_batch_policy(each.strip()) for each in text.split(","))
    if not 1 <= len(built) <= 2 or len(built) <= text.count(","):
        raise UserError(f"--policy {text}: expected one policy, or the present one and another")
    now, *then = built.values()
    return now, then[0] if then else None


def _report(folder: Path) -> Path:
    from trimtab.evaluation.worth.page import write_worth_report

    return write_worth_report(folder)


def _answer(document: Worth) -> None:
    console.answer(_text(document.verdict))
    console.answer(_images(document), _text(_few(document)))
    ablation = [_ablation(document)] if document.stages else []
    console.answer(*ablation, _text(f"next: {document.next}"))


def _few(document: Worth) -> str:
    if not document.first:
        slim = any(row.saved_startup_s is not None for row in document.images)
        return "no slim image saves bytes" if slim else "no image is pulled"
    named = ", ".join(map(_name, document.first[:3])) + " ..." * (len(document.first) > 3)
    known = any(row.saved_bytes for row in document.images)
    what = "bytes that slim images save" if known else "bytes that nodes pull"
    count, share = f"{len(document.first)} of {len(document.images)}", document.first_share or 0.0
    return f"slim first: {named}; {count} images have {100 * share:.0f} % of the {what}"


def _images(document: Worth) -> Table:
    table = _table("image", ("starts", "pulls", "size", "pulled", "sum", "slim", "saves"))
    total, sum_ = sum(row.pulled_bytes or 0.0 for row in document.images), 0.0
    for row in document.images[:_MOST_IMAGES]:
        sum_ += row.pulled_bytes or 0.0
        sizes = (row.size_bytes, row.pulled_bytes, row.slim_bytes, row.saved_bytes)
        size, pulled, slim, saved = ("" if each is None else format_bytes(each) for each in sizes)
        slim = slim or ("" if row.saved_startup_s is not None else "not known")
        share = f"{100 * sum_ / total:.0f} %" if total else ""
        counts = f"{row.starts:,}", f"{row.pulls:,}"
        table.add_row(Text(_name(row.image)), *counts, size, pulled, share, slim, saved)
    return table


def _ablation(document: Worth) -> Table:
    before = document.before
    names = [each.name for each in before.figures if each.name != "startup_s"]
    shown = [name for name in SHOWN_FIRST if name in names][:_MOST_FIGURES]
    table = _table("", ["\n".join(figure_name(name).rsplit(" ", 1)) for name in shown])
    values = [format_figure(name, before.figure(name).value) for name in shown]
    table.add_row(before.name, *values)
    for setting in document.settings[1:]:
        table.add_row(setting.name, *(_change(setting, before, name) for name in shown))
    return table


def _change(setting: Setting, before: Setting, name: str) -> str:
    return change_of(setting.figure(name), before.figure(name).value)


def _table(first: str, others: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _name(image: str) -> str:
    """Return an image's name in one line, its end if it is long."""
    name = escape_control_characters(image).replace("\n", "\\n").replace("\t", "\\t")
    return name if len(name) <= _LONGEST_NAME else f"...{name[3 - _LONGEST_NAME :]}"


def _text(words: str) -> Text:
    return Text(escape_control_characters(words))
