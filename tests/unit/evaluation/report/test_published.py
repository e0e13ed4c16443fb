"""The published figures as transcribed, and a loader that refuses what has no source."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from trimtab.errors import TrimtabError
from trimtab.evaluation.report.published import (
    FOLDER,
    places,
    published,
    titled,
    without_places,
)

WORKLOADS = {
    "libraries_total": "Table 2",
    "core_library": "Table 3",
    "run_cost": "Table 5",
    "debloating_time": "Table 8",
}
OTHERS = {
    "similarity_of_targets": ("Table 4", 10),
    "sizes_by_loading_mode": ("Table 6", 4),
    "run_cost_by_loading_mode": ("Table 7", 4),
    "similarity_of_tensorflow_targets": ("Table 9", 6),
    "sizes_of_large_models": ("Table 10", 18),
}
FIGURES = {
    "cpu_and_gpu_code": ("Figure 1", 1),
    "reduction_of_code_size": ("Figure 5a", 2),
    "reduction_of_count": ("Figure 5b", 1),
    "savings_by_library": ("Figure 6", 1),
    "reasons_of_removal": ("Figure 7", 1),
    "tracing": ("Section 4.6", 2),
}
SCHEDULING = {
    "queueing_by_policy": 6,
    "schedule": 19,
    "cluster_energy": 8,
    "agreement": 3,
    "deflator": 2,
    "migrated_job": 2,
    "accuracy_loss": 3,
    "sprinting": 1,
    "schedule_verdicts": 64,
}
PROTECTION = {
    "protection_price": 7,
    "protection_workers": 6,
    "protection_policies": 1,
    "protection_graph_size": 1,
    "protection_input_size": 3,
    "protection_macro": 3,
}
CHARACTERIZATION = {
    "application_metrics": 6,
    "platform_metrics": 12,
    "infrastructure_metrics": 7,
    "variability": 3,
    "platform_impact": 4,
    "hyper_impact": 6,
    "tuning_levels": 10,
    "multi_objective": 3,
}
OF_IMAGES = {"image_sizes", "removed_large_files", "image_run_cost", "image_power"}
PAPER = "The Hidden Bloat in Machine Learning Systems"


@pytest.mark.parametrize(("name", "place"), WORKLOADS.items())
def test_every_table_has_the_ten_workloads_of_the_paper(name: str, place: str) -> None:
    entries = published(name)
    assert len(entries) == 10
    assert {entry.place for entry in entries} == {place}
    assert {entry.paper for entry in entries} == {PAPER}
    assert [e.row for e in entries] == [e.row for e in published("libraries_total")]
    assert len({frozenset(entry.values) for entry in entries}) == 1


@pytest.mark.parametrize(("name", "place", "rows"), [(n, *of) for n, of in OTHERS.items()])
def test_the_other_tables_are_whole(name: str, place: str, rows: int) -> None:
    entries = published(name)
    assert len(entries) == rows
    assert {entry.place for entry in entries} == {place}
    assert {entry.paper for entry in entries} == {PAPER}
    assert len({frozenset(entry.values) for entry in entries}) == 1


@pytest.mark.parametrize(
    ("name", "row", "key", "value"),
    [
        ("libraries_total", "MobileNetV2 PyTorch Train", "file_size_mb", 3762),
        ("libraries_total", "MobileNetV2 PyTorch Train", "cpu_code_reduction_pct", 68),
        ("libraries_total", "Transformer TensorFlow Train", "functions", 1_043_000),
        ("libraries_total", "Llama2 Transformers Inference", "libraries", 98),
        ("libraries_total", "MobileNetV2 PyTorch Train", "gpu_code_reduction_pct", 75),
        ("libraries_total", "Transformer TensorFlow Inference", "elements", 8325),
        ("core_library", "MobileNetV2 TensorFlow Train", "elements_reduction_pct", 100),
        ("core_library", "Transformer TensorFlow Inference", "gpu_code_reduction_pct", 73),
        ("core_library", "Llama2 vLLM Inference", "gpu_code_mb", 747),
        ("run_cost", "MobileNetV2 PyTorch Inference", "peak_gpu_memory_reduction_pct", 69.6),
        ("run_cost", "Transformer TensorFlow Train", "peak_gpu_memory_mb", 14149),
        ("sizes_by_loading_mode", "Llama2 vLLM Inference, Lazy", "gpu_code_reduction_pct", 68),
        (
            "sizes_by_loading_mode",
            "Llama2 Transformers Inference, Eager",
            "elements_reduction_pct",
            88,
        ),
        ("run_cost_by_loading_mode", "Llama2 vLLM Inference, Eager", "peak_gpu_memory_mb", 91946),
        (
            "run_cost_by_loading_mode",
            "Llama2 Transformers Inference, Lazy",
            "wall_reduction_pct",
            20.3,
        ),
        ("sizes_of_large_models", "phi_3_medium_4k_instruct vLLM Inference", "elements", 8297),
        (
            "sizes_of_large_models",
            "llama_3_70b_instruct Transformers Inference",
            "functions",
            587_000,
        ),
        ("core_library", "Transformer PyTorch Inference", "functions_reduction_pct", 94),
        ("core_library", "Llama2 vLLM Inference", "cpu_code_mb", 43),
        ("run_cost", "MobileNetV2 PyTorch Inference", "peak_memory_reduction_pct", 74.6),
        ("run_cost", "MobileNetV2 PyTorch Inference", "wall_reduction_pct", 44.6),
        ("run_cost", "Transformer TensorFlow Train", "wall_s", 4779),
        ("debloating_time", "Transformer TensorFlow Train", "end_to_end_s", 18420),
        ("debloating_time", "MobileNetV2 PyTorch Train", "end_to_end_s", 651),
        ("reduction_of_code_size", "median of CPU code", "cpu_code_median_reduction_pct", 25),
        ("savings_by_library", "MobileNetV2 PyTorch Train", "libraries_for_90_pct", 8),
        ("tracing", "NSys, MobileNetV2 PyTorch Train", "wall_overhead_pct", 126),
    ],
)
def test_values_are_those_printed(name: str, row: str, key: str, value: float) -> None:
    (entry,) = (entry for entry in published(name) if entry.row == row)
    assert entry.number(key) == value


@pytest.mark.parametrize(("name", "rows"), SCHEDULING.items())
def test_what_chapters_3_and_4_state_is_whole(name: str, rows: int) -> None:
    entries = published(name)
    assert len(entries) == rows
    assert {entry.paper for entry in entries} == {
        "Towards Energy Efficiency by Leveraging Heterogeneity of Clusters and Applications"
    }
    assert {entry.place.split(".")[0] for entry in entries} <= {"Section 3", "Section 4", "Table 4"}


@pytest.mark.parametrize(
    ("name", "row", "key", "value"),
    [
        ("queueing_by_policy", "NPS, high", "waiting_mean_s", 70.6),
        ("queueing_by_policy", "DiAS(0,10), low", "waiting_mean_s", 286.42),
        ("queueing_by_policy", "DiAS(0,20), low", "execution_mean_s", 131.1),
        ("cluster_energy", "Figure 3.6, HEATS with H = 1", "total_energy_difference_pct", -7.1),
        (
            "cluster_energy",
            "Figure 4.9c, limited, DiAS(0,20)",
            "total_energy_difference_pct",
            -21.6,
        ),
        (
            "cluster_energy",
            "Figure 4.9c, unlimited, DiAS(0,20)",
            "total_energy_difference_pct",
            -31,
        ),
        ("schedule", "Figure 4.6a, NP, high", "response_mean_difference_pct", 80),
        ("schedule", "Figure 4.6a, DA(0,20), low", "response_p95_difference_pct", -65),
        ("schedule", "Figure 4.7, P", "waste_pct", 16),
        ("agreement", "Figure 4.4, both classes", "formula_real_error_pct", 18.7),
        ("migrated_job", "k-means that stays on the AMD node", "energy_j", 565),
    ],
)
def test_values_of_schedules_are_those_printed(name: str, row: str, key: str, value: float) -> None:
    (entry,) = (entry for entry in published(name) if entry.row == row)
    assert entry.number(key) == value


IMAGES = "Debloating Machine Learning Systems"


@pytest.mark.parametrize(
    ("name", "row", "key", "value"),
    [
        ("image_sizes", "Cimplifier, Python", "after_mb", 26.7),
        ("image_sizes", "Cimplifier, YOLOv3 on COCO", "after_mb", 2480),
        ("removed_large_files", "Cimplifier, YOLOv3 on COCO", "large_libraries_mb", 1561),
        ("image_run_cost", "LSTM on MNIST, 5 epochs", "slim_deviation_s", 0.94),
        ("image_run_cost", "BoTorch, 9 iterations", "slim_s", 4381.38),
        ("image_power", "BoTorch, most of the training", "slim_gpu_memory_mb", 978),
    ],
)
def test_values_of_images_are_those_printed(name: str, row: str, key: str, value: float) -> None:
    (entry,) = (entry for entry in published(name) if entry.row == row)
    assert entry.number(key) == value and entry.paper == IMAGES


def test_tables_of_images_are_whole() -> None:
    by_place = Counter(entry.place for entry in published("image_run_cost"))
    assert by_place == {
        "Table 4.1": 3, "Table 4.2": 3, "Table A.1": 3, "Table A.2": 2, "Table A.3": 3
    }  # fmt: skip

    def total(name: str, key: str) -> float:
        return sum(entry.number(key) for entry in published(name))

    assert total("image_sizes", "before_mb") == 2 * 885 + 2 * 3370 + 3 * 4430
    assert total("image_sizes", "after_mb") == pytest.approx(10_680.4)
    assert total("image_run_cost", "original_s") == pytest.approx(28_331.53)
    assert total("image_run_cost", "original_deviation_s") == pytest.approx(403.52)
    assert total("image_run_cost", "slim_s") == pytest.approx(28_329.45)
    assert total("image_run_cost", "slim_deviation_s") == pytest.approx(392.25)


def test_column_sums_catch_a_slip_anywhere_in_a_table() -> None:
    def total(name: str, key: str) -> float:
        return sum(entry.number(key) for entry in published(name))

    assert total("libraries_total", "libraries") == total("debloating_time", "libraries") == 2098
    assert total("libraries_total", "file_size_mb") == 31_605
    assert total("libraries_total", "cpu_code_mb") == 6_003
    assert total("libraries_total", "functions") == 7_970_000
    assert total("debloating_time", "end_to_end_s") == 24_003
    assert total("run_cost", "peak_memory_mb") == 73_955
    assert total("libraries_total", "gpu_code_mb") == 16_723
    assert total("libraries_total", "elements") == 100_222
    assert total("core_library", "gpu_code_mb") == 5_584
    assert total("core_library", "elements") == 20_527
    assert total("run_cost", "peak_gpu_memory_mb") == 98_649
    assert total("sizes_of_large_models", "libraries") == 2_089
    assert total("sizes_of_large_models", "gpu_code_mb") == 31_852
    assert total("sizes_of_large_models", "elements") == 133_478
    assert total("queueing_by_policy", "waiting_mean_s") == pytest.approx(1_099.02)
    assert total("queueing_by_policy", "execution_mean_s") == pytest.approx(718.0)


def test_gpu_code_and_cpu_code_are_less_than_the_files() -> None:
    for name in (
        "libraries_total",
        "core_library",
        "sizes_by_loading_mode",
        "sizes_of_large_models",
    ):
        for entry in published(name):
            code_mb = entry.number("cpu_code_mb") + entry.number("gpu_code_mb")
            assert code_mb < entry.number("file_size_mb"), (name, entry.row)


@pytest.mark.parametrize(
    ("key", "stem", "average", "rounding"),
    [
        # "Average Absolute Reduction" under Table 5. Percentages are rounded to 0.1 and seconds
        # to 1, so that a mean of products can be off by about this much.
        ("peak_gpu_memory_mb", "peak_gpu_memory", 443, 5),
        ("wall_s", "wall", 2.6, 0.4),
        # The printed 2501 MB does not follow from the printed rows, which give 2444 MB.
        ("peak_memory_mb", "peak_memory", 2444, 4),
    ],
)
def test_the_average_under_table_5_follows_from_its_rows(
    key: str, stem: str, average: float, rounding: float
) -> None:
    less = [
        entry.number(key) * entry.number(f"{stem}_reduction_pct") / 100
        for entry in published("run_cost")
    ]
    assert sum(less) / len(less) == pytest.approx(average, abs=rounding)


def test_the_overheads_follow_from_the_times() -> None:
    for entry in published("tracing"):
        ratio = entry.number("wall_s") / entry.number("original_s")
        assert round(100 * (ratio - 1)) == entry.number("wall_overhead_pct")


@pytest.mark.parametrize(("name", "place", "rows"), [(n, *of) for n, of in FIGURES.items()])
def test_what_the_text_states_of_a_figure_names_it(name: str, place: str, rows: int) -> None:
    entries = published(name)
    assert len(entries) == rows
    whole = f"{place} of {entries[0].paper}"
    assert places(name) == whole
    assert titled("What it shows", name) == f"What it shows ({whole})"
    assert without_places(titled("What it shows", name)) == ("What it shows", whole)


def test_what_chapters_6_and_7_state_of_tuning_is_whole() -> None:
    entries = published("tuning")
    assert len(entries) == 8
    assert Counter(entry.place for entry in entries) == {
        "Table 6.1": 4,
        "Section 6.4.4": 3,
        "Section 7.5.4": 1,
    }
    (printed,) = (entry for entry in entries if entry.row == "PipeTune, LeNet on MNIST")
    assert (printed.number("accuracy_pct"), printed.number("tuning_s")) == (92.70, 3415)
    entries = published("multi_tenant")
    assert [entry.number("response_reduction_pct") for entry in entries] == [30, 65]
    assert {entry.place for entry in entries} == {"Section 6.4.5"}


@pytest.mark.parametrize(("name", "rows"), CHARACTERIZATION.items())
def test_what_chapter_5_states_is_whole(name: str, rows: int) -> None:
    entries = published(name)
    assert len(entries) == rows
    assert {entry.place.rpartition(".")[0] for entry in entries} <= {"Section 5.2", "Section 5.3"}
    assert places(name).startswith("Figure")


@pytest.mark.parametrize(
    ("name", "row", "key", "value"),
    [
        ("application_metrics", "Figure 5.1c, MLlib", "median", 37_747),
        ("infrastructure_metrics", "Figure 5.3a, MLlib", "high", 340 * 3600),
        ("infrastructure_metrics", "Figure 5.3d, inference", "p75", 800 * 2**20),
        ("variability", "Figure 5.4a, BLR", "spread_decades", 5),
        ("tuning_levels", "Figure 5.8a, DDF-GBT, platform only", "best", 135),
        ("tuning_levels", "Figure 5.8a, DDF-GBT, joint", "change_pct", -71),
        ("multi_objective", "Figure 5.10, DGS-DT, joint", "price_change_pct", -54),
    ],
)
def test_values_of_chapter_5_are_those_stated(name: str, row: str, key: str, value: float) -> None:
    (entry,) = (entry for entry in published(name) if entry.row == row)
    assert entry.number(key) == value


@pytest.mark.parametrize(("name", "rows"), PROTECTION.items())
def test_what_chapter_8_states_is_whole(name: str, rows: int) -> None:
    entries = published(name)
    assert len(entries) == rows
    assert all(entry.place.startswith("Section 8.") for entry in entries)
    assert places(name).startswith("Figure 8.")


def test_every_file_of_the_folder_is_asked_for() -> None:
    held = {yaml.safe_load(path.read_text()).get("holds") for path in FOLDER.glob("*/*.yaml")}
    known = {*WORKLOADS, *OTHERS, *FIGURES, *SCHEDULING, *CHARACTERIZATION, *OF_IMAGES}
    known |= {"tuning", "multi_tenant", *PROTECTION}
    assert held == {None, *known}


GOOD: dict[str, Any] = {
    "holds": "sizes",
    "place": "Table 1",
    "hardware": "A machine",
    "rows": [{"row": "A row", "values": {"file_size_mb": 3, "file_size_reduction_pct": 50}}],
}


def write_paper(folder: Path, name: str, *printed: object, **figures: str) -> None:
    """A paper with these files."""
    (folder / name).mkdir(parents=True)
    paper = {"title": f"The title of {name}", "figures": figures}
    (folder / name / "paper.yaml").write_text(yaml.safe_dump(paper))
    for number, document in enumerate(printed, start=1):
        (folder / name / f"table_{number}.yaml").write_text(yaml.safe_dump(document))


def test_the_same_table_of_two_papers_stands_beside_each_other(tmp_path: Path) -> None:
    write_paper(tmp_path, "one", GOOD)
    write_paper(tmp_path, "two", GOOD | {"holds": "times"}, GOOD | {"place": "Table 2"})
    rows = published("sizes", tmp_path)
    assert [(row.paper, row.place) for row in rows] == [
        ("The title of one", "Table 1"),
        ("The title of two", "Table 2"),
    ]
    assert places("sizes", tmp_path) == "Table 1 of The title of one; Table 2 of The title of two"
    assert places("times", tmp_path) == "Table 1 of The title of two"


def with_values(**values: object) -> dict[str, Any]:
    return {"rows": [{"row": "A row", "values": values}]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"place": None}, "A row: no place"),
        ({"place": "somewhere"}, "place: "),
        ({"holds": ""}, "holds: "),
        ({"rows": []}, "rows: "),
        (with_values(), "rows.0.values: "),
        (with_values(file_size_mb=float("nan")), "rows.0.values.file_size_mb"),
        (with_values(file_size_mb=True), "rows.0.values.file_size_mb"),
        (with_values(file_size_mb=None), "rows.0.values.file_size_mb"),
        (with_values(file_size_reduction_pct=101), "more than 100"),
        ({"from": "hearsay"}, "from: "),
        ({"rows": GOOD["rows"] * 2}, "A row is given twice"),
        ({"bears_on": "weather"}, "bears_on: "),
    ],
)
def test_what_is_not_sound_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    write_paper(tmp_path, "one", GOOD | change)
    with pytest.raises(TrimtabError, match=rf"one/table_1\.yaml: .*{message}"):
        published("sizes", tmp_path)


@pytest.mark.parametrize(("text", "message"), [("", "the file: "), ("[", "cannot be read")])
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, message: str) -> None:
    write_paper(tmp_path, "one", GOOD)
    (tmp_path / "one/table_1.yaml").write_text(text)
    with pytest.raises(TrimtabError, match=rf"table_1\.yaml: {message}"):
        published("sizes", tmp_path)


def test_a_table_without_its_paper_is_refused(tmp_path: Path) -> None:
    write_paper(tmp_path, "one", GOOD)
    (tmp_path / "one/paper.yaml").unlink()
    with pytest.raises(TrimtabError, match=r"one/paper\.yaml: missing"):
        published("sizes", tmp_path)


def test_what_nobody_published_is_named(tmp_path: Path) -> None:
    write_paper(tmp_path, "one", GOOD)
    with pytest.raises(TrimtabError, match="no file holds weather"):
        published("weather", tmp_path)
