"""`trimtab image start`: the costs of two images until their program's first output."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.config_options.group import option_groups
from trimtab.cli.image.start_tables import left_table, steps_table
from trimtab.cli.output.console import console
from trimtab.cli.program_options import ENDING, PROGRAM, ProgramOptions
from trimtab.config.fields import MistakeError
from trimtab.config.groups.workload import Marks
from trimtab.config.validate import checked
from trimtab.errors import UserError
from trimtab.images.compression import Compression
from trimtab.profiling.cold_start.measuring import Conditions, measure_cold_starts
from trimtab.profiling.runs.from_workload import absolute
from trimtab.records.images.cold_start import ColdRound


@option_groups(program=PROGRAM.only(*ENDING, "user", defaults={"timeout_s": 600.0}))
def start(
    before: Annotated[
        str, typer.Argument(metavar="BEFORE", help="An image, as for `trimtab image slim`.")
    ],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="What was made of it.")],
    program: ProgramOptions,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND]", help="As for `docker run`; else the images' own."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often both are measured.")] = 5,
    gbit_per_s: Annotated[float, typer.Option(help="The bandwidth of the pull.")] = 1.0,
    compression: Annotated[
        Compression, typer.Option(help="How the registry has the layers: gzip or zstd.")
    ] = Compression.GZIP,
    first_output: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="The start is over with the first line of standard output in which this regular"
            " expression is found; by default with the first line, or the end of --drive.",
        ),
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="What was removed, if it may come back: WORKSPACE/store.")
    ] = None,
    drop_caches: Annotated[
        bool,
        typer.Option(
            "--drop-caches",
            help="Empty all caches of the machine before each start; by default files of the"
            " images alone are taken out of them. For root.",
        ),
    ] = False,
    output: Annotated[Path | None, typer.Option(help="A JSON file with all of it.")] = None,
) -> None:
    """Pull, unpack and start BEFORE and AFTER in turns, and tell what each step takes.

    They are pulled from a registry on this machine that is as fast as --gbit-per-s, unpacked, and
    started without an engine, from an empty page cache, on all processors and on one.
    """
    if compression is Compression.NONE:
        raise UserError("--compression none: registries compress layers; expected gzip or zstd")
    workload = program.in_image(before).workload(command or [], None)
    try:
        checked({"first_iteration": first_output}, Marks)
    except MistakeError as error:
        raise UserError(f"--first-output: {error.problem}") from None
    conditions = Conditions(
        gbit_per_s=gbit_per_s, compression=compression, rounds=rounds, first_output=first_output,
        store=None if store is None else absolute(store), drop_caches=drop_caches,
    )  # fmt: skip
    with console.step("compressing, pulling and starting both images") as status:

        def on_round(name: str, number: int, took: ColdRound) -> None:
            said = f"round {number + 1} of {rounds}: {name} {took.total_s:.1f} s"
            status.update(said)
            console.detail(said)

        measured = measure_cold_starts(before, after, workload, conditions, on_round)
    console.answer(steps_table(measured), left_table(measured))
    console.result(measured.to_json())
    if output is not None:
        measured.write(output)
        console.path(output)
