"""Every card of whole reports says a difference that is sure."""

import re
from collections.abc import Callable
from pathlib import Path

import experiment_files as files
import pytest
import schedule_files

from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.measurements import EvaluationInputs

_CARD = re.compile(
    r'<div( class="(?P<effect>\w*)")?><span>.*?</span><b>(?P<change>.*?)</b>.*?</div>'
)
_PAIRS = re.compile(r"pairs (?P<low>\S+) % to (?P<high>\S+) %")


def cards(page: str) -> list[re.Match[str]]:
    lists = re.findall(r'<ul class="cards[^"]*".*?</ul>', page, re.DOTALL)
    return [found for each in lists for found in _CARD.finditer(each)]


def of_targets(folder: Path) -> EvaluationInputs:
    inputs = files.write_experiment(folder)
    files.weigh(folder / "debloat")
    return inputs


@pytest.mark.parametrize(
    ("write", "least"),
    [
        (of_targets, 5),
        (files.write_gpu_experiment, 5),
        (schedule_files.write_everything, 0),
    ],
)
def test_no_card_has_an_interval_with_zero(
    write: Callable[[Path], EvaluationInputs], least: int, tmp_path: Path
) -> None:
    page = evaluate(write(tmp_path), tmp_path / "out").read_text()
    found = cards(page)
    assert len(found) >= least
    for card in found:
        assert card["effect"] in (None, "better", "worse")
        assert "no change" not in card["change"] and card["change"] != "\N{EN DASH}"
        text = card[0].replace("\N{NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-")
        if pairs := _PAIRS.search(text):
            assert float(pairs["low"]) * float(pairs["high"]) > 0
        if (change := re.match(r"([-+]\d[\d.,]*) %", text[text.index("<b>") + 3 :])) is not None:
            assert card["effect"] == ("better" if change[1].startswith("-") else "worse")


def test_pairs_that_disagree_are_words_and_no_card(tmp_path: Path) -> None:
    inputs = of_targets(tmp_path)
    sure = evaluate(inputs, tmp_path / "sure").read_text()
    assert any("Run time" in card[0] for card in cards(sure))
    runs = [
        files.run("lenet5_train", condition, repeat, wall_s=wall_s)
        for repeat, pair in enumerate(((12.0, 11.0), (12.0, 13.0), (12.0, 12.5)))
        for condition, wall_s in zip(("original", "debloated"), pair, strict=True)
    ]
    files.weigh(files.write_debloat(tmp_path / "debloat", runs=runs))
    page = evaluate(inputs, tmp_path / "out").read_text()
    assert not any("Run time" in card[0] for card in cards(page))
    assert re.search(r'<p class="unchanged">No change: .*run time', page)
