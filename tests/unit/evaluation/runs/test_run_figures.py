"""The bars of the sizes and the dots of the runs."""

from pathlib import Path

import experiment_files as files

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.sizes import LibrarySizes
from trimtab.evaluation.runs.run_cost import RunCost


def test_the_bars_are_the_rows_of_the_size_table(tmp_path: Path) -> None:
    (figure,) = LibrarySizes(load(files.write_experiment(tmp_path))).figures
    drawn = files.values_in(figure.spec)
    assert {(row["size"], row["state"]): row["mb"] for row in drawn} == {
        ("file system", "before"): 16,
        ("file system", "after"): 6,
        ("compressed (zstd)", "before"): 8,
        ("compressed (zstd)", "after"): 1.75,
        ("resident", "before"): 200,
        ("resident", "after"): 50,
    }
    assert ">1.8<" in figure.svg


def test_every_run_that_ended_well_is_a_dot(tmp_path: Path) -> None:
    runs = files.verify_runs("lenet5_train")
    runs[5]["ended_well"] = False
    debloat = files.write_debloat(tmp_path / "d", runs=runs)
    figure = RunCost(load(files.inputs([files.write_profile(tmp_path / "p")], [debloat]))).figures[
        0
    ]
    values = files.values_in(figure.spec)
    dots = [(row["condition"], row["repeat"], row["wall_s"]) for row in values]
    assert dots == [
        ("original", 0, 10),
        ("debloated", 0, 9),
        ("original", 1, 20),
        ("debloated", 1, 16),
        ("original", 2, 12),
    ]
