"""Options that the commands about batch queues share."""

from typing import Annotated

import typer

_CURVE = "or a CSV of times and values."

Nodes = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC",
        help="The nodes, as gpu_a40:4,64c256g:10,32c128g8gpu:2: files in conf/hardware/ or"
        " shapes. By default the size or the nodes that JOBS has.",
    ),
]
FileFormat = Annotated[
    str | None,
    typer.Option("--format", help="The format of JOBS, as sacct; by default by its content."),
]
Price = Annotated[str | None, typer.Option(metavar="CURVE", help=f"EUR/kWh: a number, {_CURVE}")]
Carbon = Annotated[str | None, typer.Option(metavar="CURVE", help=f"gCO2e/kWh: a number, {_CURVE}")]
NodePrice = Annotated[
    str | None,
    typer.Option(metavar="TYPE=EUR,...", help="EUR per hour of a node, while it is on."),
]
CheckpointTimes = Annotated[
    str | None,
    typer.Option(
        metavar="INTERVAL:COST[:RESTART]",
        help="Seconds between checkpoints, of one, and of a restart; columns of JOBS override.",
    ),
]
SpotNodes = Annotated[
    str | None,
    typer.Option(
        metavar="TYPE=RATE[:BACK_S[:NOTICE_S]],...",
        help="Nodes that are reclaimed at random, at this rate a node and hour, and are back"
        " after BACK_S.",
    ),
]
PreemptTiers = Annotated[
    str | None,
    typer.Option(
        metavar="QUEUE=TIER,...",
        help="Jobs of higher tiers interrupt those of lower ones; or: priority.",
    ),
]
