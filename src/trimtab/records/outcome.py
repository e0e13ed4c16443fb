"""`outcome.json`: an experiment's environments before and after, for scripts and CI."""

from dataclasses import replace
from typing import ClassVar, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import Text, Whole, Word

_EQUAL = "the output was equal in "
ENDS_UNKNOWN = "how its program ended was not recorded"


@dataclass(frozen=True, config=PART)
class BytesBeforeAfter:
    """Bytes before and after."""

    before_bytes: Whole
    after_bytes: Whole

    @property
    def less_pct(self) -> float | None:
        """The reduction in per cent; None where there were none."""
        less = self.before_bytes - self.after_bytes
        return 100 * less / self.before_bytes if self.before_bytes else None

    def __str__(self) -> str:
        change = ""
        if self.less_pct is not None:
            change = f" ({abs(self.less_pct):.1f} % {'less' if self.less_pct >= 0 else 'more'})"
        return f"{mb(self.before_bytes)} → {mb(self.after_bytes)} MB{change}"


@dataclass(frozen=True, config=PART)
class EnvironmentPart(BytesBeforeAfter):
    """A part of an environment: bytes on disk, and its number of files where known."""

    name: Text
    files: Whole | None = None


@dataclass(frozen=True, config=PART)
class More:
    """Remaining bytes, `at_most_bytes`, and the option that removes them.

    `option` is empty if no option removes them.
    """

    what: Text
    at_most_bytes: Whole
    option: Text = ""


@dataclass(frozen=True, config=PART)
class EnvironmentOutcome:
    """A whole environment: on disk, and compressed if measured.

    The `parts` are on disk and add up to it. `shared_bytes` of the slim one belong to the original
    too. `verified` says whether outputs were equal, None without verification; `sentence`
    summarises all. `ends_judged` says whether failed programs count as failures there; old versions
    ignored them.
    """

    target: Word
    hardware: Word
    kind: Word
    disk: BytesBeforeAfter
    compressed: BytesBeforeAfter | None
    shared_bytes: Whole
    parts: list[EnvironmentPart]
    more: list[More]
    verified: bool | None
    sentence: Text
    ends_judged: bool = False

    def believed(self) -> Self:
        """Return the outcome without a success that cannot be confirmed."""
        if self.ends_judged or self.verified is not True:
            return self
        said = self.sentence.removesuffix(".").split("; ")
        kept = [each for each in said if not each.startswith(_EQUAL)]
        sentence = "; ".join([*kept, f"{ENDS_UNKNOWN}: run the stage `evaluate` again"])
        return replace(self, verified=None, sentence=f"{sentence}.")


class Outcome(Document):
    """`outcome.json`: the outcome of an experiment, or of a workspace, without a title."""

    stage: ClassVar[str] = "evaluate"
    version: Literal[1] = 1
    experiment: Text = ""
    title: Text = ""
    environments: list[EnvironmentOutcome] = Field(default_factory=list)


def mb(size_bytes: float) -> str:
    """Return bytes in 10^6 bytes, with one decimal if small."""
    return f"{size_bytes / 1e6:,.{0 if size_bytes >= 1e8 else 1}f}"
