"""The few figures and charts of an experiment."""

from pathlib import Path

from trimtab.files import read_json, write_json
from trimtab.workflow.headlines import headlines_of, write_headlines

METRICS = {
    "verified": 1,
    "saturation": {"one": {"new_files_percent": 1.0}},
    "targets": {
        "one": {"before_mb": 2.0, "after_mb": 1.0, "locate_s": 3.0},
        "two": {"before_mb": 4.004, "after_mb": 3.0},
    },
    "workloads": {
        "one/a": {"wall_reduction_pct": 9.0, "energy_reduction_pct": None},
        "one/b": {"wall_reduction_pct": -1.0},
    },
    "tuning": {"w/m/o/t/tuning_s": 7.0, "w/m/o/u/tuning_s": 1.0, "w/m/o/u/tuning_low_s": 0.5},
    "schedule": {
        "pair/jobs/fcfs/simulated/makespan_s": 4.0,
        "pair/jobs/other/simulated/makespan_s": 6.0,
        "pair/jobs/fcfs/one/simulated/makespan_s": 99.0,
        "pair/jobs/fcfs/simulated/utilisation_pct": 5.0,
        "pair/jobs/fcfs/one/simulated/waste_pct": 6.0,
    },
}


def test_few_of_many_and_nothing_of_what_there_is_not() -> None:
    assert headlines_of(METRICS) == {
        "verified": 1,
        "before_mb": 6.0,
        "after_mb": 4.0,
        "wall_pct": -4.0,
        "tuning_s": 8.0,
        "makespan_s": 5.0,
    }
    assert headlines_of({}) == {}


def test_charts_are_those_that_the_report_has(tmp_path: Path) -> None:
    evaluated, charts = tmp_path / "evaluated", tmp_path / "plots" / "one"
    write_json_in(evaluated)
    for name in ("sizes", "other"):
        (evaluated / "figures" / f"{name}.svg").write_text("<svg/>")
    charts.mkdir(parents=True)
    (charts / "tuners.svg").touch()  # of an earlier run
    write_headlines(evaluated, tmp_path / "one.json", charts)
    assert [path.name for path in charts.iterdir()] == ["sizes.svg"]
    assert read_json(tmp_path / "one.json")["verified"] == 1


def write_json_in(evaluated: Path) -> None:
    (evaluated / "figures").mkdir(parents=True)
    write_json(evaluated / "metrics.json", METRICS)
