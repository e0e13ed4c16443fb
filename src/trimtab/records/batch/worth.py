"""The document of `trimtab worth`: what slim images are worth to an operator's queue."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.batch.comparison import NodeGroup, format_duration
from trimtab.records.document import PART, Document
from trimtab.records.values import AboveZero, Amount, Measure, Share, Text, Whole


@dataclass(frozen=True, config=PART)
class Saving:
    """What a setting saves of a figure: of the recorded queue, and a 95 % interval.

    Negative: it takes more. The interval is the saving plus or minus Student's t times the standard
    deviation of its share over replications, times the figure without stages; where that figure is
    0, the standard deviation of what is saved. `low` and `high` are null without replications.
    """

    value: Measure
    low: Measure | None
    high: Measure | None

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves zero out: the one rule for all verdicts."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True, config=PART)
class SettingFigure:
    """A figure of the recorded queue in a setting; `saving` against none of the stages."""

    name: Text
    value: Measure
    saving: Saving


@dataclass(frozen=True, config=PART)
class Setting:
    """The stages that are on, and the figures of the queue with them."""

    name: Text
    stages: list[Text]
    figures: list[SettingFigure]

    def figure(self, name: str) -> SettingFigure:
        """Return the figure of a name."""
        return next(each for each in self.figures if each.name == name)


@dataclass(frozen=True, config=PART)
class RankedImage:
    """An image in the replay of the recorded queue: its starts, and nodes' pulls of it.

    `pulled_bytes` is null where its size is unknown; the last four where its slim image is.
    `break_even_starts`: after so many starts the time of making it slim is won back; null where
    that time is unknown, or nothing is won.
    """

    image: Text
    starts: Whole
    pulls: Whole
    size_bytes: Amount | None
    pulled_bytes: Amount | None
    startup_s: Amount
    modelled: list[Text]
    slim_bytes: Amount | None
    saved_bytes: Measure | None
    saved_startup_s: Measure | None
    break_even_starts: Amount | None


class Worth(Document):
    """What each stage is worth to a queue, alone and with the others.

    `settings`: the first has no stage, the second all, if there are any. `images` are those of the
    jobs, the most pulled bytes first. `first` are the fewest that give 80 % of what all slim images
    save, or could. `next` is the command to type. `remarks` are what was assumed. `replications` is
    0 if all jobs are submitted at one instant: then no interval is known.
    """

    stage: ClassVar[str] = "trimtab worth"
    version: Literal[1] = 1
    file: Text
    format: Text
    jobs: AboveZero
    left_out: Whole
    span_s: Amount
    nodes: list[NodeGroup]
    replications: Whole
    stages: list[Text]
    settings: Annotated[list[Setting], Field(min_length=1)]
    images: list[RankedImage]
    first: list[Text]
    first_share: Share | None
    verdict: Text
    next: Text
    remarks: list[Text]

    @model_validator(mode="after")
    def _settings_have_the_same_figures(self) -> Self:
        names = [[each.name for each in setting.figures] for setting in self.settings]
        if any(each != names[0] for each in names):
            raise ValueError("settings: expected the same figures of each")
        return self

    @property
    def before(self) -> Setting:
        """The queue without any stage."""
        return self.settings[0]

    @property
    def after(self) -> Setting:
        """The queue with all stages: as it is, if there is none."""
        return self.settings[:2][-1]

    @property
    def is_compared(self) -> bool:
        """Whether there are stages, and intervals of their changes."""
        return len(self.settings) > 1 and self.replications > 0


NO_INTERVAL = "no interval"
_NAMES = {
    "pulled_bytes": "bytes pulled",
    "startup_s": "start-up of all jobs",
    "mean_startup_s": "mean start-up",
    "mean_response_s": "mean response",
    "p95_response_s": "95 % response",
    "gpu_hours": "GPU-hours held",
    "core_hours": "core-hours held",
    "node_hours": "node-hours on",
    "energy_j": "energy",
    "eur": "EUR",
    "carbon_g": "CO2e",
}


# What a reader looks for, in this order.
SHOWN_FIRST = (
    "pulled_bytes", "mean_startup_s", "mean_response_s", "eur", "carbon_g", "node_hours",
    "gpu_hours", "core_hours", "energy_j", "p95_response_s",
)  # fmt: skip


def figure_name(figure: str) -> str:
    """Return what a figure is called for readers."""
    return _NAMES[figure]


def format_figure(figure: str, value: float) -> str:
    """Return a figure with its unit."""
    if figure.endswith("_bytes"):
        return format_bytes(value)
    if figure.endswith("_s"):
        return format_duration(value)
    if figure == "energy_j":
        return f"{_rounded(value / 3.6e6)} kWh"
    if figure == "carbon_g":
        return f"{_rounded(value / 1000)} kg"
    return _rounded(value) + (" h" if figure.endswith("_hours") else "")


def format_bytes(value: float) -> str:
    """Return bytes in the unit that suits them."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if abs(value) >= size:
            return f"{_rounded(value / size)} {unit}"
    return f"{_rounded(value / 1000)} kB"


def change_of(figure: SettingFigure, before: float) -> str:
    """Return the change against `before` in per cent, or `no change` by the one rule."""
    if figure.saving.low is None:
        return NO_INTERVAL
    if not figure.saving.is_clear:
        return "no change"
    return percent(-figure.saving.value, before)


def interval_of(figure: SettingFigure, before: float) -> str:
    """Return the interval of the change in per cent."""
    saving = figure.saving
    if saving.low is None or saving.high is None:
        return NO_INTERVAL
    low, high = (percent(-each, before) for each in (saving.high, saving.low))
    return f"{low.removesuffix(' %')} to {high}" if low != high else low


def percent(change: float, before: float) -> str:
    """Return a change relative to `before`, with its sign; `new` where that was 0."""
    if not before:
        return "new" if change else "0 %"
    share = 100 * change / before
    size = abs(share)
    return f"{share:+.{2 if size < 1 else 1 if size < 10 else 0}f} %"


def _rounded(value: float) -> str:
    size = abs(value)
    if 1e-4 <= size < 0.1:  # two digits behind the point would say little of a small queue's EUR
        return f"{value:.3g}"
    return f"{value:,.{2 if size < 10 else 1 if size < 1000 else 0}f}"
