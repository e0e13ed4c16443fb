"""The published figures as transcribed, and a loader that refuses what has no source."""

from pathlib import Path

import pytest
import yaml

from trimtab.errors import TrimtabError
from trimtab.evaluation.report.published import FOLDER, published

WORKLOADS = {
    name: f"Table {name.removeprefix('table_')}"
    for name in ("table_2", "table_3", "table_5", "table_8")
}
OTHERS = {"table_4": 10, "table_6": 4, "table_7": 4, "table_9": 6, "table_10": 18}
SCHEDULING = {
    "table_4_2": 6,
    "schedule": 19,
    "cluster_energy": 8,
    "agreement": 3,
    "deflator": 2,
    "schedule_statements": 6,
}
PAPER = "The Hidden Bloat in Machine Learning Systems"


@pytest.mark.parametrize(("name", "place"), WORKLOADS.items())
def test_every_table_has_the_ten_workloads_of_the_paper(name: str, place: str) -> None:
    entries = published(name)
    assert len(entries) == 10
    assert {entry.place for entry in entries} == {place}
    assert {entry.paper for entry in entries} == {PAPER}
    assert [e.row for e in entries] == [e.row for e in published("table_2")]
    assert len({frozenset(entry.values) for entry in entries}) == 1


@pytest.mark.parametrize(("name", "rows"), OTHERS.items())
def test_the_other_tables_are_whole(name: str, rows: int) -> None:
    entries = published(name)
    assert len(entries) == rows
    assert {entry.place for entry in entries} == {f"Table {name.removeprefix('table_')}"}
    assert {entry.paper for entry in entries} == {PAPER}
    assert len({frozenset(entry.values) for entry in entries}) == 1


@pytest.mark.parametrize(
    ("name", "row", "key", "value"),
    [
        ("table_2", "MobileNetV2 PyTorch Train", "file_size_mb", 3762),
        ("table_2", "MobileNetV2 PyTorch Train", "cpu_code_reduction_pct", 68),
        ("table_2", "Transformer TensorFlow Train", "functions", 1_043_000),
        ("table_2", "Llama2 Transformers Inference", "libraries", 98),
        ("table_2", "MobileNetV2 PyTorch Train", "gpu_code_reduction_pct", 75),
        ("table_2", "Transformer TensorFlow Inference", "elements", 8325),
        ("table_3", "MobileNetV2 TensorFlow Train", "elements_reduction_pct", 100),
        ("table_3", "Transformer TensorFlow Inference", "gpu_code_reduction_pct", 73),
        ("table_3", "Llama2 vLLM Inference", "gpu_code_mb", 747),
        ("table_5", "MobileNetV2 PyTorch Inference", "peak_gpu_memory_reduction_pct", 69.6),
        ("table_5", "Transformer TensorFlow Train", "peak_gpu_memory_mb", 14149),
        ("table_6", "Llama2 vLLM Inference, Lazy", "gpu_code_reduction_pct", 68),
        ("table_6", "Llama2 Transformers Inference, Eager", "elements_reduction_pct", 88),
        ("table_7", "Llama2 vLLM Inference, Eager", "peak_gpu_memory_mb", 91946),
        ("table_7", "Llama2 Transformers Inference, Lazy", "wall_reduction_pct", 20.3),
        ("table_10", "phi_3_medium_4k_instruct vLLM Inference", "elements", 8297),
        ("table_10", "llama_3_70b_instruct Transformers Inference", "functions", 587_000),
        ("table_3", "Transformer PyTorch Inference", "functions_reduction_pct", 94),
        ("table_3", "Llama2 vLLM Inference", "cpu_code_mb", 43),
        ("table_5", "MobileNetV2 PyTorch Inference", "peak_memory_reduction_pct", 74.6),
        ("table_5", "MobileNetV2 PyTorch Inference", "wall_reduction_pct", 44.6),
        ("table_5", "Transformer TensorFlow Train", "wall_s", 4779),
        ("table_8", "Transformer TensorFlow Train", "end_to_end_s", 18420),
        ("table_8", "MobileNetV2 PyTorch Train", "end_to_end_s", 651),
        ("statements", "Figure 5a, median of CPU code", "cpu_code_median_reduction_pct", 25),
        ("statements", "Figure 6, MobileNetV2 PyTorch Train", "libraries_for_90_pct", 8),
        ("statements", "NSys, MobileNetV2 PyTorch Train", "wall_overhead_pct", 126),
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
        ("table_4_2", "NPS, high", "waiting_mean_s", 70.6),
        ("table_4_2", "DiAS(0,10), low", "waiting_mean_s", 286.42),
        ("table_4_2", "DiAS(0,20), low", "execution_mean_s", 131.1),
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
        ("schedule_statements", "Figure 3.1, k-means that stays on the AMD node", "energy_j", 565),
    ],
)
def test_values_of_schedules_are_those_printed(name: str, row: str, key: str, value: float) -> None:
    (entry,) = (entry for entry in published(name) if entry.row == row)
    assert entry.number(key) == value


def test_column_sums_catch_a_slip_anywhere_in_a_table() -> None:
    def total(name: str, key: str) -> float:
        return sum(entry.number(key) for entry in published(name))

    assert total("table_2", "libraries") == total("table_8", "libraries") == 2098
    assert total("table_2", "file_size_mb") == 31_605
    assert total("table_2", "cpu_code_mb") == 6_003
    assert total("table_2", "functions") == 7_970_000
    assert total("table_8", "end_to_end_s") == 24_003
    assert total("table_5", "peak_memory_mb") == 73_955
    assert total("table_2", "gpu_code_mb") == 16_723
    assert total("table_2", "elements") == 100_222
    assert total("table_3", "gpu_code_mb") == 5_584
    assert total("table_3", "elements") == 20_527
    assert total("table_5", "peak_gpu_memory_mb") == 98_649
    assert total("table_10", "libraries") == 2_089
    assert total("table_10", "gpu_code_mb") == 31_852
    assert total("table_10", "elements") == 133_478
    assert total("table_4_2", "waiting_mean_s") == pytest.approx(1_099.02)
    assert total("table_4_2", "execution_mean_s") == pytest.approx(718.0)


def test_gpu_code_and_cpu_code_are_less_than_the_files() -> None:
    for name in ("table_2", "table_3", "table_6", "table_10"):
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
        for entry in published("table_5")
    ]
    assert sum(less) / len(less) == pytest.approx(average, abs=rounding)


def test_the_overheads_follow_from_the_times() -> None:
    for entry in published("statements"):
        if "wall_overhead_pct" in entry.values:
            ratio = entry.number("wall_s") / entry.number("original_s")
            assert round(100 * (ratio - 1)) == entry.number("wall_overhead_pct")


def test_every_file_of_the_folder_is_valid() -> None:
    names = [path.stem for path in FOLDER.glob("*.yaml")]
    assert set(names) == {"statements", *WORKLOADS, *OTHERS, *SCHEDULING}
    assert all(published(name) for name in names)


GOOD = {
    "source": {"paper": "A paper", "table": 1, "row": "A row"},
    "hardware": "A machine",
    "values": {"file_size_mb": 3, "file_size_reduction_pct": 50},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": {"paper": "A paper", "row": "A row"}}, "either table or section"),
        ({"source": "A paper"}, "either table or section"),
        ({"values": {}}, "at least one"),
        ({"values": {"file_size_mb": float("nan")}}, "file_size_mb: expected a number"),
        ({"values": {"file_size_mb": True}}, "file_size_mb: expected a number"),
        ({"values": {"file_size_mb": None}}, "file_size_mb: expected a number"),
        ({"values": {"file_size_reduction_pct": 101}}, "more than 100"),
        ({"from": "hearsay"}, "expected the keys"),
    ],
)
def test_an_entry_that_is_not_sound_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    (tmp_path / "x.yaml").write_text(yaml.safe_dump([GOOD | change]))
    with pytest.raises(TrimtabError, match=rf"x\.yaml, entry 1: .*{message}"):
        published("x", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "list"),
        ("a: 1", "list"),
        ("[", "cannot be read"),
        (yaml.safe_dump([GOOD] * 2), "twice"),
    ],
)
def test_a_file_that_is_no_list_of_rows_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(TrimtabError, match=message):
        published("x", tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrimtabError, match=r"nowhere\.yaml: cannot be read"):
        published("nowhere", tmp_path)
