"""What the figures say, in one sentence, and which command to type next."""

import shlex
from collections.abc import Sequence

from trimtab.records.batch.worth import (
    RankedImage,
    Setting,
    change_of,
    figure_name,
    format_figure,
    interval_of,
)

_TOLD = ("pulled_bytes", "mean_startup_s", "mean_response_s", "gpu_hours", "core_hours",
         "energy_j", "eur", "carbon_g")  # fmt: skip


def verdict_of(before: Setting, after: Setting) -> str:
    """Return the clear changes with their intervals, and which figures do not change."""
    clear, same = list[str](), list[str]()
    for each in after.figures:
        if each.name not in _TOLD:
            continue
        was, name = before.figure(each.name).value, figure_name(each.name)
        if not each.saving.is_clear:
            same.append(name)
            continue
        words = f"{name} {change_of(each, was)} ({interval_of(each, was)})"
        if not clear:
            now = format_figure(each.name, each.value)
            words += f", {now} instead of {format_figure(each.name, was)}"
        clear.append(words)
    if not clear:
        return f"{after.name}: no change of {', '.join(same)}"
    words = f"{after.name}: {'; '.join(clear)}"
    return f"{words}; no change of {', '.join(same)}" if same else words


def next_command(images: Sequence[RankedImage], first: Sequence[str]) -> str:
    """Return what to type next: make the most pulled image slim, measure one, or push one."""
    for row in images:
        if row.pulls and row.slim_bytes is None and row.saved_startup_s is None:
            return f"trimtab image slim {shlex.quote(row.image)}"
    by_name = {row.image: row for row in images}
    for name in first:
        if "size of the slim image" in by_name[name].modelled:
            return f"trimtab image slim {shlex.quote(name)}"
    for name in first:
        if by_name[name].modelled:
            folder = "trimtab_workspace/slim.tar"
            return f"trimtab image start {shlex.quote(name)} {folder} --output start.json"
    return "trimtab image push trimtab_workspace/slim.tar --to HOST/PATH:TAG"
