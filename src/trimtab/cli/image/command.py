"""`trimtab image slim` and `trimtab image compare`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.config_options.debloat import IMAGE as DEBLOAT_IMAGE
from trimtab.cli.config_options.debloat import Gpus
from trimtab.cli.config_options.group import option_groups
from trimtab.cli.config_options.run_counts import OF_DEBLOAT, RunCounts
from trimtab.cli.image.inspect import inspect
from trimtab.cli.image.pack import pack
from trimtab.cli.image.partition import partition
from trimtab.cli.image.pull import pull
from trimtab.cli.image.push import push
from trimtab.cli.image.share import share
from trimtab.cli.image.start import start
from trimtab.cli.image.tables import large_files_table, removed_table, sides_table
from trimtab.cli.output.command_group import CommandGroup
from trimtab.cli.output.console import console
from trimtab.cli.overview import VERBS
from trimtab.cli.program_options import IN_IMAGE, ProgramOptions
from trimtab.cli.result_lines import say_result
from trimtab.cli.steps import WORKSPACE, WorkspaceOption, slimmed, traced
from trimtab.cli.summary import (
    format_other_programs,
    format_unserved,
)
from trimtab.cli.workspace_lock import alone_in
from trimtab.config.groups.debloat import Compression, Debloat
from trimtab.debloating.files.folder_tree import root_tree
from trimtab.debloating.images.comparing import compare_images
from trimtab.debloating.images.comparison_record import comparison_record
from trimtab.debloating.images.packing import slim_name
from trimtab.debloating.images.unserved import unserved_programs
from trimtab.debloating.targets.image import SLIM_IMAGE, SLIM_SIF
from trimtab.errors import UserError
from trimtab.evaluation.outcome.read import outcome_in
from trimtab.images.archives.image import Image
from trimtab.images.engine import ContainerEngine, EngineError
from trimtab.images.folders import image_of_folder, is_root_folder
from trimtab.images.sif.container import Sif, is_sif
from trimtab.processes.root import INIT
from trimtab.profiling.images.unpacked import image_at, unpacked_image
from trimtab.records.usage import Usage

image = CommandGroup(help=VERBS["image"], no_args_is_help=True)
image.command()(share)
image.command()(partition)
image.command()(pack)
image.command()(push)
image.command()(pull)
image.command()(inspect)
image.command(
    common=("rounds", "gbit_per_s", "compression", "first_output", "store", "drive", "ready",
            "output")
)(start)  # fmt: skip
IMAGE = typer.Argument(
    help="An archive, an OCI folder, a SIF, or the name by which an engine (DOCKER_HOST) has it."
)


@image.command(
    common=(
        "folder", "output", "compare", "ends_with", "drive", "ready", "remove", "keep", "fallback",
        "compression",
    )
)  # fmt: skip
@alone_in("folder")
@option_groups(program=IN_IMAGE, options=DEBLOAT_IMAGE, counts=OF_DEBLOAT)
def slim(
    location: Annotated[str, typer.Argument(metavar="IMAGE", help=IMAGE.help)],
    program: ProgramOptions,
    options: Debloat,
    counts: RunCounts,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND]", help="As for `docker run`; else the image's own."),
    ] = None,
    folder: WorkspaceOption = WORKSPACE,
    gpus: Gpus = None,
) -> None:
    """Trace COMMAND in IMAGE, without an engine, and write the slim image WORKSPACE/slim.tar.

    Of a SIF of Apptainer's there is WORKSPACE/slim.sif too.

    Where IMAGE is the name NAME:TAG of an engine's, that gets the slim image too, as NAME:slim.
    IMAGE stays as it is. What was removed is in WORKSPACE/store, and comes back in containers that
    have that folder as /trimtab/store, unless --fallback, --store or --store-address say otherwise.
    """
    with console.step("unpacking the image"):
        original = unpacked_image(location)
    name = slim_name(original)
    try:
        runs = counts.profiling.traced_runs
        traced(folder, command or [], program.in_image(location), runs, options.keep_libraries)
    except UserError as error:  # the unpacked path means nothing to the user
        raise UserError(str(error).replace(str(original.root), location)) from None
    step = "making and settling the slim file system"
    settling = slimmed(folder, options, gpus, counts.settle.clean_runs, step)
    say_result(folder, settling)
    unserved = unserved_programs(root_tree(original.root), [Usage.read(folder / "usage.json")])
    if unserved:
        console.notes.print(format_unserved(unserved), soft_wrap=True)
    console.path(folder / SLIM_IMAGE)
    if (folder / "env" / INIT).is_file():
        console.notes.print(format_other_programs(bool(unserved)), soft_wrap=True)
    if is_sif(original.image.path):
        console.path(folder / SLIM_SIF)
        if Sif.open(original.image.path).is_signed:
            console.notes.print(
                "the original's signatures are not of these files: sign it with `apptainer sign`"
            )
    if original.engine_name is not None:
        with console.step(f"loading {name}"):
            _load(folder / SLIM_IMAGE, options.compression)
        console.notes.print(f"the engine has it as {name}")
    console.result(outcome_in(folder).to_json())


def _load(archive: Path, compression: Compression) -> None:
    try:
        with ContainerEngine.connect() as engine:
            engine.load(archive)
    except EngineError as error:
        reads = "" if compression == Compression.GZIP else " (Docker reads zstd from version 23 on)"
        raise EngineError(
            f"{error}{reads}. The slim image is whole: `docker load --input {archive}`"
        ) from None


@contextmanager
def _image_or_folder(location: str) -> Iterator[Image]:
    folder = Path(location).expanduser()
    if is_root_folder(folder):
        with image_of_folder(folder) as found:
            yield found
    else:
        yield image_at(location)


@image.command()
def compare(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help=IMAGE.help)],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="What was made of it.")],
    gbit_per_s: Annotated[
        float, typer.Option(min=0.001, help="The bandwidth of the transfer that is modelled.")
    ] = 1.0,
    gadgets: Annotated[
        bool, typer.Option(help="Count gadgets in machine code; half a minute for a GB of it.")
    ] = False,
    advisories: Annotated[
        Path | None,
        typer.Option(help="Known vulnerabilities as OSV JSON: a file, a folder, or a ZIP archive."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="A JSON file with all of it, also the lists of files.")
    ] = None,
) -> None:
    """Tell what AFTER no longer has of BEFORE, and what that is worth.

    Either may be a folder with a root file system, too.

    Files count once: links are none, and names of one file one. Both are compressed anew, with
    zstd, and unpacked into TMPDIR, for the time that it takes; the transfer is modelled.
    """
    with (
        console.step("reading, compressing and unpacking both images"),
        _image_or_folder(before) as first,
        _image_or_folder(after) as second,
    ):
        compared = compare_images(
            first,
            second,
            gbit_per_s,
            count_gadgets=gadgets,
            advisories=advisories,
        )
    console.answer(sides_table(compared), removed_table(compared))
    if (large := large_files_table(compared)) is not None:
        console.answer(large)
    record = comparison_record(compared, before, after, gbit_per_s)
    console.result(record.to_json())
    if output is not None:
        record.write(output)
        console.path(output)
