"""Which targets run a large language model or several GPUs."""

from pathlib import Path

import experiment_files as files
import pytest

from trimtab.evaluation.inputs.measurements import WorkloadFacts
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.large_models import LargeModels
from trimtab.evaluation.report.tables import Row, Table, is_published


def ours(table: Table) -> list[Row]:
    return [row for row in table.rows if not is_published(row)]


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
    table = LargeModels(load(files.inputs([profile], [debloat], workloads=facts))).tables[0]
    assert bool(table.ours) is belongs
    assert [row["model"] for row in ours(table)] == [model] * belongs


@pytest.mark.parametrize(("gpus", "belongs"), [(0, False), (1, False), (2, True)])
def test_several_gpus_belong_whatever_the_model(tmp_path: Path, gpus: int, belongs: bool) -> None:
    profile = files.write_profile(tmp_path / "p", gpus=files.GPUS * gpus)
    debloat = files.write_debloat(tmp_path / "d", gpus=files.GPUS, libraries=files.GPU_LIBRARY_ROWS)
    rows = ours(LargeModels(load(files.inputs([profile], [debloat]))).tables[0])
    assert [(row["gpus"], row["elements"]) for row in rows] == [(gpus, 100)] * belongs
