"""The chain's section: its ablation is page one's chart, and its cards follow the one rule."""

from pathlib import Path

import pytest

from trimtab.evaluation.inputs.measurements import EvaluationInputs, Measurements
from trimtab.evaluation.inputs.stages.worth import read
from trimtab.evaluation.report.changes import Effect
from trimtab.evaluation.report.first_page import chart_of, strip_of
from trimtab.evaluation.report.stages import stages_of
from trimtab.evaluation.worth.section import ChainWorth
from trimtab.records.batch.comparison import NodeGroup
from trimtab.records.batch.worth import Saving, Setting, SettingFigure, Worth

NOTHING = Saving(0.0, 0.0, 0.0)


def document(*, response: Saving) -> Worth:
    """Return what two stages are worth: fewer bytes for sure, and `response`."""
    bytes_saved = Saving(6e9, 5e9, 7e9)
    before = [
        SettingFigure("pulled_bytes", 8e9, NOTHING),
        SettingFigure("mean_response_s", 100.0, NOTHING),
    ]
    after = [
        SettingFigure("pulled_bytes", 2e9, bytes_saved),
        SettingFigure("mean_response_s", 100 - response.value, response),
    ]
    return Worth(
        file="trace.parquet",
        format="trace",
        jobs=10,
        left_out=0,
        span_s=100.0,
        nodes=[NodeGroup("node", 2, 1000, 0)],
        replications=20,
        stages=["slim images", "policy"],
        settings=[
            Setting("as it is", [], before),
            Setting("all stages", ["slim images", "policy"], after),
        ],
        images=[],
        first=[],
        first_share=None,
        verdict="all stages: less",
        next="trimtab image slim",
        remarks=["run times are measured, on node"],
    )


@pytest.mark.parametrize(
    ("response", "shown"),
    [(Saving(20.0, 10.0, 30.0), ["response"]), (Saving(20.0, -1.0, 41.0), [])],
    ids=["clear", "spans zero"],
)
def test_page_one_has_the_ablation_and_the_clear_figures(
    response: Saving, shown: list[str], tmp_path: Path
) -> None:
    paths = []
    for policy in ("easy", "heats"):
        path = tmp_path / "results/worth/small/chain" / policy / "worth.json"
        path.parent.mkdir(parents=True)
        document(response=response).write(path)
        paths.append(path)
    inputs = EvaluationInputs("chain", "a machine", "today", {"worth": paths})
    section = ChainWorth(Measurements(inputs, {"worth": read(paths, inputs)}))
    assert [figure.name for figure in section.figures] == ["ablation", "ablation_small_chain_heats"]

    stages = stages_of([section], set())
    strip = strip_of(stages)
    assert [each.figure.about for each in strip] == shown
    assert all(each.figure.effect is Effect.BETTER for each in strip)
    chart = chart_of([section], strip)
    assert chart is not None and chart.name == "ablation"

    (table,) = section.tables
    assert {row["policy"] for row in table.rows} == {"easy", "heats"}
    assert section.metrics()["worth"]["small_chain_easy"]["pulled_bytes"] == "-75 %"
