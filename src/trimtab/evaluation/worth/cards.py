"""The cards of what stages are worth: each figure's change with its interval."""

from trimtab.evaluation.report.changes import Effect
from trimtab.evaluation.report.key_figures import About, KeyFigure
from trimtab.evaluation.report.tables import MINUS
from trimtab.records.batch.worth import (
    Worth,
    change_of,
    figure_name,
    format_figure,
    interval_of,
)

_ABOUT = {
    "mean_startup_s": About.START,
    "mean_response_s": About.RESPONSE,
    "energy_j": About.ENERGY,
    "eur": About.EURO,
    "carbon_g": About.CARBON,
}
_MODELLED = ("energy_j", "eur", "carbon_g")  # by the idle and busy power of nodes


def card_of(worth: Worth, name: str) -> KeyFigure:
    """Return the card of a figure: all stages against none."""
    figure, before = worth.after.figure(name), worth.before.figure(name).value
    effect = Effect.UNCLEAR
    if figure.saving.is_clear:
        effect = Effect.BETTER if figure.saving.value > 0 else Effect.WORSE
    words = figure_name(name)
    source = "modelled" if name in _MODELLED else "simulated"
    return KeyFigure(
        f"{words[:1].upper()}{words[1:]} ({source})",
        change_of(figure, before).replace("-", MINUS),
        f"{format_figure(name, before)} → {format_figure(name, figure.value)}; "
        f"95 %: {interval_of(figure, before)}",
        effect,
        about=_ABOUT.get(name),
    )
