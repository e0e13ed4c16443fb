"""Sizes of images before and after (figure 4.4 of the first seed), and large removed files."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from trimtab.evaluation.images.section import ImageSection, images_of
from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.libraries.size_columns import compressed_sizes
from trimtab.evaluation.report.figures import (
    AFTER,
    BEFORE,
    Figure,
    data,
    hover,
    in_order,
    scaled,
    specification,
)
from trimtab.evaluation.report.published import places, titled
from trimtab.evaluation.report.tables import (
    MB,
    Column,
    Row,
    Table,
    compared,
    reduction_pct,
    target_row,
)
from trimtab.records.tables import LARGE_FILE_BYTES

_LIBRARIES = "shared libraries"  # their kind in files.parquet
_BEFORE, _AFTER = "original", "slim"


class ImageSizes(ImageSection):
    """The bytes of each image's files, each file once, and large removed files."""

    order = 60

    def make_tables(self) -> Iterator[Table]:
        """A row for each image: its size, and removed files above 10 MB."""
        images = list(images_of(self.measurements))
        yield compared(
            "image_sizes",
            "Sizes of images",
            "Bytes on disk of all files of an image, each once. Removed files lie in a store "
            "beside the slim image and come back when a program asks for them. Compressed, the "
            "files are one stream (zstd, level 3). The published images differ: they have CUDA "
            "10.2 and, in place of Debian's Python, a registry's image `python`, which is built "
            "on all of buildpack-deps.",
            (
                Column("before_mb", "Original, MB", 1),
                Column("after_mb", "Slim, MB", 1),
                Column("size_reduction_pct", "less, %", 1),
                Column("compressed_before_mb", "Original, compressed, MB", 1),
                Column("compressed_after_mb", "Slim, compressed, MB", 1),
            ),
            [target_row(target, _sizes(target)) for target in images],
            who=(Column("name", "Image"),),
        )
        yield compared(
            "removed_large_files",
            "Large files that went",
            "Files above 10 MB that the slim image has no more. The published counts took links for"
            " files, as their text says; here a file counts once, and links not at all.",
            (
                Column("removed_mb", "All removed, MB", 1),
                Column("large_files", "Files above 10 MB", 0),
                Column("large_mb", "their MB", 1),
                Column("large_libraries_mb", "Libraries among them, MB", 1),
                Column("large_libraries_share_pct", "of all removed, %", 1),
            ),
            [target_row(target, _large(target)) for target in images],
            who=(Column("name", "Image"),),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield ours beside the published sizes."""
        yield Figure(
            "image_sizes",
            titled("Sizes of images", "image_sizes"),
            f"Our images, and the published ones of {places('image_sizes')}, which hold other "
            "software.",
            _bars(self.tables[0].rows),
        )

    def metrics(self) -> Mapping[str, Any]:
        """Return the sizes of each image."""
        return {"images": self.tables[0].by_row("name")}


def _sizes(target: DebloatedTarget) -> Row:
    built = target.built
    if built is None:
        return {}
    return {
        "before_mb": built.before_bytes / MB,
        "after_mb": built.after_bytes / MB,
        "size_reduction_pct": reduction_pct(built.before_bytes, built.after_bytes),
        **compressed_sizes(target),
    }


def _large(target: DebloatedTarget) -> Row:
    if target.files.empty:
        return {}
    gone = target.files[~target.files["kept"] & (target.files["type"] == "file")]
    large = gone[gone["size_bytes"] > LARGE_FILE_BYTES]
    removed, libraries = gone["size_bytes"].sum(), large[large["kind"] == _LIBRARIES]["size_bytes"]
    return {
        "removed_mb": float(removed / MB),
        "large_files": len(large),
        "large_mb": float(large["size_bytes"].sum() / MB),
        "large_libraries_mb": float(libraries.sum() / MB),
        "large_libraries_share_pct": float(100 * libraries.sum() / removed) if removed else None,
    }


def _bars(rows: tuple[Row, ...]) -> dict[str, Any]:
    """Return two bars for each image, published ones below ours."""
    values = [
        {"image": row["name"], "size": which, "mb": row[key]}
        for row in rows
        for which, key in ((_BEFORE, "before_mb"), (_AFTER, "after_mb"))
        if row.get(key) is not None
    ]
    both = (_BEFORE, _AFTER)
    chart = (
        alt.Chart(data(values))
        .mark_bar()
        .encode(
            x=alt.X("mb:Q", title="MB"),
            y=alt.Y("image:N", title=None, sort=in_order(value["image"] for value in values)),
            yOffset=alt.YOffset("size:N", sort=both),
            color=scaled(alt.Color, "size:N", both, (BEFORE, AFTER)),
            tooltip=hover("image", "size", mb=",.1f"),
        )
        .properties(width=520, height={"step": 14})
    )
    return specification(chart)
