"""Page one: what leads, how programs ended, and what stays folded."""

from dataclasses import replace
from pathlib import Path

import experiment_files as files

from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.report.changes import Effect
from trimtab.evaluation.report.first_page import chart_of, ends_of, strip_of
from trimtab.evaluation.report.key_figures import About, KeyFigure
from trimtab.evaluation.report.section import ReportSection, find_sections
from trimtab.evaluation.report.stages import StageOnPage, believed


def figure(label: str, about: About | None, effect: Effect = Effect.BETTER) -> KeyFigure:
    return KeyFigure(label, "-9 %", "", effect, about=about)


def test_the_strip_has_the_first_sure_figure_of_each_subject_and_at_most_five() -> None:
    stage = StageOnPage("Debloating")
    stage.add("t", figure("noise", About.SIZE, Effect.UNCLEAR))
    for about in reversed(About):
        stage.add("t", figure(f"first {about}", about))
        stage.add("u", figure(f"second {about}", about))
    stage.add("t", figure("no subject", None))
    strip = strip_of([stage])
    assert [each.figure.label for each in strip] == [f"first {about}" for about in About][:5]
    assert [each.label for each in stage.unchanged["t"]] == ["noise"]


def test_a_difference_leads_only_where_it_is_sure(tmp_path: Path) -> None:
    inputs = files.write_experiment(tmp_path)
    sections = [kind(load(inputs)) for kind in find_sections()]
    applied = [section for section in sections if section.applies]
    found = chart_of(applied, [])
    assert found is not None and found.name == "sizes"

    class Energy(ReportSection):
        def make_figures(self) -> list[object]:  # type: ignore[override]
            return [replace(found, name="energy_against_baseline")]

    energy = [Energy(load(inputs))]
    stage = StageOnPage("Schedules")
    assert chart_of(energy, strip_of([stage])) is None
    stage.add("t", figure("Energy", About.ENERGY))
    assert chart_of(energy, strip_of([stage])) is not None


def test_the_verdict_says_how_programs_ended(tmp_path: Path) -> None:
    runs = [
        files.run("lenet5_train", condition, repeat, exit_code=code)
        for repeat, code in enumerate((0, 3, -15))
        for condition in ("original", "debloated")
    ]
    files.write_debloat(tmp_path / "debloat", runs=runs)
    inputs = files.inputs([files.write_profile(tmp_path / "profile")], [tmp_path / "debloat"])
    assert ends_of(load(inputs).targets) == "signal 15 or exit code 0 or exit code 3"


def test_nothing_is_better_where_the_output_differs() -> None:
    card = replace(figure("a", None), also=(figure("b", None), figure("c", None, Effect.WORSE)))
    assert [each.effect for each in believed(card).parts] == ["", "", "worse"]


def test_all_but_page_one_is_folded_and_empty_chapters_are_absent(tmp_path: Path) -> None:
    page = evaluate(files.write_experiment(tmp_path), tmp_path / "out").read_text()
    body = page[page.index("<main") :]
    first = body[: body.index("<details")]
    assert "they ended with exit code 0" in first and "<table" not in first
    assert first.count('class="chart"') == 1
    assert '<h2 id="gpu">' not in page and '<h2 id="common">' not in page
    assert "Published values of what was not measured here" in body
