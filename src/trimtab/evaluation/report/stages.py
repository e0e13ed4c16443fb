"""The page's folded sections: for each stage its cards, what was done, and its chapters."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from trimtab.evaluation.report.blocks import Block, Prose
from trimtab.evaluation.report.changes import Effect
from trimtab.evaluation.report.key_figures import KeyFigure
from trimtab.evaluation.report.section import Chapter, ReportSection
from trimtab.evaluation.report.tables import Table

_HEADINGS = {
    "worth": "What each stage is worth",
    "debloat": "Debloating",
    "fleet": "Fleets",
    "tune": "Tuning",
    "schedule": "Schedules",
    "characterize": "Characterization",
    "protect": "Protection",
    "growth": "Growth",
}


@dataclass
class StageOnPage:
    """What the page says of a stage; cards and `unchanged` figures are by their subject."""

    heading: str
    cards: dict[str, list[KeyFigure]] = field(default_factory=dict)
    unchanged: dict[str, list[KeyFigure]] = field(default_factory=dict)
    done: list[Block] = field(default_factory=list)
    chapters: dict[Chapter, list[Block]] = field(default_factory=dict)
    not_measured: list[Block] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """Its first card in a few words, else that nothing is sure."""
        first = next((card for cards in self.cards.values() for card in cards), None)
        if first is not None:
            return f"{first.title or first.label}: {first.change}"
        if any(each.effect is Effect.ONCE for of in self.unchanged.values() for each in of):
            return "seen only once: no difference is sure"
        return "no change" if self.unchanged else ""

    def add(self, name: str, figure: KeyFigure) -> None:
        """Add a figure to the cards, or to what did not change."""
        unchanged = [each for each in figure.parts if not each.effect.is_shown]
        if unchanged:
            self.unchanged.setdefault(name, []).extend(unchanged)
        if card := figure.card:
            self.cards.setdefault(name, []).append(card)


def stages_of(sections: Iterable[ReportSection], failed: set[str]) -> list[StageOnPage]:
    """Return the stages in the order of their first section.

    No figure of a `failed` target is better. A chapter without anything from this experiment is
    left out: what others published stays in `not_measured`.
    """
    stages: dict[str, StageOnPage] = {}
    for section in sections:
        heading = _HEADINGS.get(section.stage, section.stage)
        stage = stages.setdefault(section.stage, StageOnPage(heading))
        stage.done.extend(section.done())
        for name, figure in section.key_figures():
            stage.add(name, believed(figure) if name in failed else figure)
        if section.chapter:
            stage.chapters.setdefault(section.chapter, []).extend(section.page())
    for stage in stages.values():
        stage.chapters, stage.not_measured = _of_this_experiment(stage.chapters)
    return list(stages.values())


def believed(figure: KeyFigure) -> KeyFigure:
    """Return a figure of something that does not work: nothing of it is better."""
    shown = [
        replace(each, effect=Effect.NONE) if each.effect is Effect.BETTER else each
        for each in (figure, *figure.also)
    ]
    return replace(shown[0], also=tuple(replace(each, also=()) for each in shown[1:]))


def _of_this_experiment(
    chapters: dict[Chapter, list[Block]],
) -> tuple[dict[Chapter, list[Block]], list[Block]]:
    left, others = {}, []
    for chapter, blocks in chapters.items():
        ours = [block for block in blocks if not _is_published(block)]
        others += [block for block in blocks if _is_published(block)]
        if all(isinstance(block, Prose) for block in ours):
            others += ours
        else:
            left[chapter] = ours
    return left, others


def _is_published(block: Block) -> bool:
    return isinstance(block, Table) and block.is_folded


def unchanged_in_words(stages: Sequence[StageOnPage], effect: Effect) -> Iterator[str]:
    """Yield the labels of figures with this effect, each one time; subjects of page one first."""
    found = [
        figure
        for stage in stages
        for figures in stage.unchanged.values()
        for figure in figures
        if figure.effect is effect
    ]
    found.sort(key=lambda figure: figure.about is None)
    yield from dict.fromkeys(f"{each.label[:1].lower()}{each.label[1:]}" for each in found)
