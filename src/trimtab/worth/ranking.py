"""Images in the order of the bytes that nodes pull of them, and which to make slim first."""

from collections.abc import Mapping, Sequence

import pandas as pd

from trimtab.records.batch.worth import RankedImage
from trimtab.worth.replay import Replay
from trimtab.worth.stages import Plan, Stage

ENOUGH_SHARE = 0.8  # of what all slim images save


def ranked(jobs: pd.DataFrame, plan: Plan, before: Replay, after: Replay) -> list[RankedImage]:
    """Return the images of jobs (BATCH_JOBS), the most pulled bytes first, then unknown sizes.

    `before` and `after` are replays without and with slim images.
    """
    starts = jobs["image"].value_counts()
    rows = [_row(name, int(starts.get(name, 0)), plan, before, after) for name in plan.images]
    return sorted(
        rows, key=lambda row: (row.pulled_bytes is None, -(row.pulled_bytes or 0.0), row.image)
    )


def _row(name: str, starts: int, plan: Plan, before: Replay, after: Replay) -> RankedImage:
    of_image, pulls = plan.images[name], before.pulls[name]
    size, slim = of_image.original.size_bytes, of_image.slim
    pulled = None if size is None else size * pulls
    slim_size = None if slim is None else slim.size_bytes
    saved = None
    if pulled is not None and slim_size is not None:
        saved = pulled - slim_size * after.pulls[name]
    saved_s = None if slim is None else before.startup_s[name] - after.startup_s[name]
    break_even = None
    if of_image.slimming_s is not None and saved_s is not None and saved_s > 0:
        break_even = of_image.slimming_s * starts / saved_s
    return RankedImage(
        image=name,
        starts=starts,
        pulls=pulls,
        size_bytes=size,
        pulled_bytes=pulled,
        startup_s=before.startup_s[name],
        modelled=list(of_image.modelled),
        slim_bytes=slim_size,
        saved_bytes=saved,
        saved_startup_s=saved_s,
        break_even_starts=break_even,
    )


def first_few(images: Sequence[RankedImage]) -> tuple[list[str], float | None]:
    """Return the fewest images that save 80 % of the bytes, and the share that they do save.

    Without slim images it is of the bytes pulled: what slim images could save. Without sizes it is
    of the start-up times. The share is None, and there is no image, where all of that is 0.
    """
    known = {row.image: row.saved_bytes for row in images if row.saved_bytes is not None}
    if not known:
        known = {row.image: row.pulled_bytes for row in images if row.pulled_bytes is not None}
    if not known:
        known = {row.image: row.startup_s for row in images}
    return _fewest({name: saved for name, saved in known.items() if saved > 0})


def _fewest(saved: Mapping[str, float]) -> tuple[list[str], float | None]:
    total, sum_, names = sum(saved.values()), 0.0, list[str]()
    for name in sorted(saved, key=lambda name: (-saved[name], name)):
        if sum_ >= ENOUGH_SHARE * total:
            break
        names.append(name)
        sum_ += saved[name]
    return names, min(1.0, sum_ / total) if total else None


SLIM_STAGES = (Stage.SLIM, Stage.START)
