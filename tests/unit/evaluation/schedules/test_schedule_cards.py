"""The cards of schedules: one policy each, with its energy and response, coloured if sure."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import experiment_files as files
import pytest
import schedule_files

from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.inputs.schedules import Cell, Schedules
from trimtab.evaluation.report.key_figures import KeyFigure
from trimtab.evaluation.schedules.scheduled import Scheduled
from trimtab.records.figures import ClassFigures

MINUS, NBSP = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Schedules:
    folders = schedule_files.write_dias(tmp_path_factory.mktemp("schedules"))
    return load(files.inputs([], [], schedule=tuple(folders))).schedules


def repeated(cell: Cell, response_s: float | None, energy_j: float | None) -> Cell:
    """The cell with half-widths of all responses, and of idle and active energy."""
    half = {"response_mean_s_half_width_99": response_s}
    classes = {name: replace(of, **half) for name, of in cell.summary.classes.items()}
    energies = {f"{kind}_energy_j_half_width_99": energy_j for kind in ("idle", "active")}
    total = replace(cell.summary.all, **half, **energies)
    summary = cell.summary.model_copy(update={"classes": classes, "all": total})
    return replace(cell, summary=summary)


def cards(schedules: Schedules) -> list[KeyFigure]:
    measurements = Measurements(files.inputs([], []), {"schedule": schedules})
    return [card for _, card in Scheduled(measurements).key_figures()]


def with_halves(
    schedules: Schedules, response_s: float | None, energy_j: float | None
) -> Schedules:
    cells = tuple(repeated(cell, response_s, energy_j) for cell in schedules.cells)
    return replace(schedules, cells=cells)


def page(folder: Path, changes: Callable[[str], dict[str, Any]]) -> str:
    """The report on the three policies, with changes of each one's cell."""
    folders = [
        schedule_files.write_cell(
            folder / "cluster/reference" / policy,
            policy,
            label,
            [schedule_files.allocation(*job) for job in allocations],
            baseline=policy == "p",
            **changes(policy),
        )
        for policy, (label, allocations) in schedule_files.STAYS_OF.items()
    ]
    return evaluate(files.inputs([], [], schedule=tuple(folders)), folder / "out").read_text()


def said(card: KeyFigure) -> list[tuple[str, str, str]]:
    return [
        (figure.label, figure.change.replace(MINUS, "-").replace(NBSP, " "), str(figure.effect))
        for figure in (card, *card.also)
    ]


def test_a_card_has_one_policys_energy_and_response(once: Schedules) -> None:
    # DA(0,20) has the least energy, 570 J of 810 J, and the least response of low.
    [card] = cards(with_halves(once, 0.5, 10.0))
    assert said(card) == [
        ("Energy (modelled)", "-29.6 %", "better"),
        ("Mean response of low", "-43.6 %", "better"),
        ("Mean response of high", "+133.3 %", "worse"),
    ]
    assert card.title == (
        "DA(0,20): least energy and response of low, but worse mean response of high"
    )
    assert card.overall == ""
    assert card.detail == "0.81 → 0.57 kJ, against P"


def test_least_energy_and_least_response_are_cards_of_their_own(once: Schedules) -> None:
    def slow(of: ClassFigures) -> ClassFigures:
        return replace(of, response_mean_s=30.0)

    cells = [repeated(cell, 0.5, 10.0) for cell in once.cells]
    summary = cells[2].summary
    classes = {name: slow(of) for name, of in summary.classes.items()}
    cells[2] = replace(cells[2], summary=summary.model_copy(update={"classes": classes}))
    energy, response = cards(replace(once, cells=tuple(cells)))
    assert energy.title == (
        "DA(0,20): least energy, but worse mean response of low and mean response of high"
    )
    assert [figure[1:] for figure in said(energy)][:2] == [
        ("-29.6 %", "better"), ("+53.8 %", "worse"),
    ]  # fmt: skip
    assert response.title == "NP: least response of low, but worse mean response of high"
    assert said(response)[0] == ("Energy (modelled)", "-14.8 %", "better")


@pytest.mark.parametrize(
    ("response_s", "energy_j", "effects"),
    [
        (None, None, ["once", "once", "once"]),  # one replication
        (3.9, 59.0, ["better", "better", "unclear"]),
        # The intervals touch: 810 - 120 and 570 + 120.
        (4.25, 60.0, ["unclear", "unclear", "unclear"]),
        (0.0, 0.0, ["better", "better", "worse"]),  # equal in all replications
    ],
)
def test_only_what_is_sure_is_coloured(
    once: Schedules, response_s: float | None, energy_j: float | None, effects: list[str]
) -> None:
    [card] = cards(with_halves(once, response_s, energy_j))
    assert [effect for _, _, effect in said(card)] == effects


def unstable(folder: Path, *policies: str) -> Schedules:
    """The reference trace; the queues of `policies` grow without bound."""
    cells = schedule_files.write_dias(folder)
    found = load(files.inputs([], [], schedule=tuple(cells))).schedules
    why = {"load": 1.08, "unstable_because": "the load is 1.08, repeats of evicted jobs included"}
    return replace(
        found,
        cells=tuple(
            replace(cell, summary=cell.summary.model_copy(update=why))
            if cell.summary.policy in policies
            else cell
            for cell in found.cells
        ),
    )


def differences(schedules: Schedules) -> dict[str, float]:
    """Every number that is a difference, in the tables and figures of all sections."""
    found = {}
    for section in schedule_files.schedule_sections(schedules):
        for key, value in section.metrics().get("schedule", {}).items():
            if key.endswith("difference_pct"):
                found[key] = value
        for figure in section.figures:
            for number, value in enumerate(files.values_in(figure.spec)):
                if value.get("difference_pct") is not None:
                    found[f"{figure.name}/{number}"] = value["difference_pct"]
    return found


def test_no_percentage_is_given_against_an_unstable_baseline(tmp_path: Path) -> None:
    assert differences(unstable(tmp_path / "stable"))
    found = unstable(tmp_path / "unstable", "p")
    assert differences(found) == {}
    [card] = cards(found)
    assert (card.label, card.change, card.effect) == ("Load of the baseline P", "1.08", "")
    assert "%" not in card.detail
    table = schedule_files.schedule_table(found, "cluster_energy")
    assert [row["details"] for row in table.ours] == [
        "the baseline; unstable: the load is 1.08, repeats of evicted jobs included",
        "the baseline is unstable",
        "the baseline is unstable",
    ]


def test_an_unstable_policy_is_in_no_card_and_has_no_difference(tmp_path: Path) -> None:
    found = unstable(tmp_path, "da_0_20")
    assert {key for key in differences(found) if "/da_0_20/" in key} == set()
    assert any("/np/" in key for key in differences(found))
    [card] = cards(found)
    assert card.title == "NP" and card.card is None  # simulated once


def test_the_report_says_which_cells_are_unstable(tmp_path: Path) -> None:
    reason = {"p": "the load is 1.08"}
    text = page(tmp_path, lambda policy: {"unstable_because": reason.get(policy, "")})
    assert "reference, P: unstable: the load is 1.08; no difference is given" in text
    assert "Load of the baseline P" in text and "43.6" not in text
    assert 'class="better"' not in text and 'class="worse"' not in text


def test_colours_of_the_page_are_those_of_the_figures(tmp_path: Path) -> None:
    half = {"response_mean_s_half_width_99": 0.5}
    text = page(tmp_path, lambda policy: {"classes": {"low": half, "high": half}})
    assert "<strong>DA(0,20): least response of low, but worse" in text
    assert text.count('<div class="better">') - 1 == text.count('<div class="worse">') == 1
    assert "<li><strong>DA(0,20)" in text
