"""Tables 6, 7 and 10: which targets belong into them, with the figures of Tables 2 and 5."""

from pathlib import Path

import experiment_files as files
import pytest

from trimtab.evaluation.inputs.measurements import Measurements, WorkloadFacts
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.gpu_tables import table_6, table_7, table_10
from trimtab.evaluation.libraries.tables import table_2
from trimtab.evaluation.report.tables import Row, Table, is_published
from trimtab.evaluation.runs.tables import table_5


def ours(table: Table) -> list[Row]:
    return [row for row in table.rows if not is_published(row)]


@pytest.fixture
def measurements(tmp_path: Path) -> Measurements:
    return load(files.write_gpu_experiment(tmp_path))


@pytest.mark.parametrize(
    ("environment", "loading"),
    [
        ({"CUDA_MODULE_LOADING": "EAGER"}, "eager"),
        ({"CUDA_MODULE_LOADING": "LAZY"}, "lazy"),
        ({"CUDA_MODULE_LOADING": "DEFAULT"}, ""),
        ({"OMP_NUM_THREADS": "1"}, ""),
        ({}, ""),
    ],
)
def test_the_loading_mode_is_what_the_driver_reads(
    environment: dict[str, str], loading: str
) -> None:
    assert WorkloadFacts(environment=environment).loading == loading


def test_the_sizes_of_both_modes_are_those_of_table_2(measurements: Measurements) -> None:
    rows = ours(table_6(measurements))
    assert [(row["name"], row["loading"]) for row in rows] == [
        ("mobilenet_train", "eager"),
        ("mobilenet_infer", "lazy"),
    ]
    for row, same in zip(rows, ours(table_2(measurements)), strict=False):
        assert row["name"] == same["name"]
        assert all(row[key] == same[key] for key in row if key != "loading")


def test_the_runs_of_both_modes_are_those_of_table_5(measurements: Measurements) -> None:
    rows = ours(table_7(measurements))
    assert [row["loading"] for row in rows] == ["eager", "lazy"]
    assert [row["peak_gpu_memory_reduction_pct"] for row in rows] == [75, 75]
    for row, same in zip(rows, ours(table_5(measurements)), strict=False):
        assert {key: row[key] for key in row if key != "loading"} == same


def test_a_mode_says_nothing_where_there_is_no_gpu_code(tmp_path: Path) -> None:
    profile, debloat = files.write_profile(tmp_path / "p"), files.write_debloat(tmp_path / "d")
    facts = {"lenet5_train": WorkloadFacts(environment=files.EAGER)}
    measurements = load(files.inputs([profile], [debloat], workloads=facts))
    for table in (table_6(measurements), table_7(measurements)):
        assert ours(table) == []
        assert len(table.rows) == 4
        assert not table.is_measured
        assert "CUDA_MODULE_LOADING" in table.missing


@pytest.mark.parametrize(
    ("model", "belongs"),
    [
        ("Llama2", True),
        ("Llama-architecture causal LM", True),
        ("c4ai_command_r_plus", True),
        ("internlm2_5_7b_chat", True),
        ("llama_3_70b_instruct", True),
        ("mixtral_8x22b_instruct", True),
        ("phi_3_medium_4k_instruct", True),
        ("qwen_72b_instruct", True),
        ("qwen15_110b_chat", True),
        ("yi_15_34b", True),
        ("zephyr_orpo_141b_a35b", True),
        ("MobileNetV2", False),
        ("Transformer", False),
        ("Delphi", False),
        ("", False),
    ],
)
def test_a_large_language_model_is_told_by_its_family(
    tmp_path: Path, model: str, belongs: bool
) -> None:
    profile, debloat = files.write_profile(tmp_path / "p"), files.write_debloat(tmp_path / "d")
    facts = {"lenet5_train": WorkloadFacts(model=model)}
    table = table_10(load(files.inputs([profile], [debloat], workloads=facts)))
    assert table.is_measured is belongs
    assert [row["model"] for row in ours(table)] == [model] * belongs


@pytest.mark.parametrize(("gpus", "belongs"), [(0, False), (1, False), (2, True)])
def test_several_gpus_belong_into_table_10_whatever_the_model(
    tmp_path: Path, gpus: int, belongs: bool
) -> None:
    profile = files.write_profile(tmp_path / "p", gpus=files.GPUS * gpus)
    debloat = files.write_debloat(tmp_path / "d", gpus=files.GPUS, libraries=files.GPU_LIBRARY_ROWS)
    rows = ours(table_10(load(files.inputs([profile], [debloat]))))
    assert [(row["gpus"], row["elements"]) for row in rows] == [(gpus, 100)] * belongs
