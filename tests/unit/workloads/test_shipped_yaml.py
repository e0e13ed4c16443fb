"""Every shipped workload's YAML against the program that it names, without any framework."""

import runpy
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "conf" / "workload").glob("*.yaml"))
PROGRAMS = ROOT / "src" / "trimtab" / "workloads"
# Without which framework a program has to answer anyhow.
FRAMEWORKS = {
    "jax_convnet": "jax",
    "cupy_kmeans": "cupy",
    "timm_inference": "timm",
    "sentence_embeddings": "sentence_transformers",
    "tensorflow_mobilenetv2": "tensorflow",
    "vllm_inference": "vllm",
}


def load(path: Path) -> dict:
    return yaml.safe_load(path.read_text())


def program_of(document: dict) -> Path:
    [name] = [word for word in document["command"] if word.endswith(".py")]
    return ROOT / name


def options_of(document: dict) -> list[str]:
    words = document["command"]
    [position] = [place for place, word in enumerate(words) if word.endswith(".py")]
    return words[position + 1 :]


GPU = [path for path in FILES if "CUDA_MODULE_LOADING" in path.read_text()]


def test_there_are_workloads_for_a_gpu():
    assert len(GPU) >= 15


@pytest.mark.parametrize("path", GPU, ids=lambda path: path.stem)
def test_program_is_there_and_knows_the_options(path, monkeypatch, capsys):
    document = load(path)
    program = program_of(document)
    assert program.parent == PROGRAMS and program.is_file()
    for framework in FRAMEWORKS.values():
        monkeypatch.setitem(sys.modules, framework, None)  # importing it raises
    # Parsed by the program itself: --help at the end answers once the words before it are right.
    monkeypatch.setattr(sys, "argv", [program.name, *options_of(document), "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(program), run_name="__main__")
    answer = capsys.readouterr()
    assert end.value.code == 0, answer.err
    assert answer.out.startswith(f"usage: {program.name}")


@pytest.mark.parametrize("framework", FRAMEWORKS.values())
def test_program_without_its_framework_says_which_is_missing(framework, monkeypatch, tmp_path):
    [program] = [name for name, needed in FRAMEWORKS.items() if needed == framework]
    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.setattr(sys, "argv", [program, "--output", str(tmp_path / "metrics.json")])
    with pytest.raises(ModuleNotFoundError, match=framework):
        runpy.run_path(str(PROGRAMS / f"{program}.py"), run_name="__main__")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", GPU, ids=lambda path: path.stem)
def test_gpu_workloads_run_anywhere_and_repeat(path):
    document, environment = load(path), load(path)["env"]
    assert not Path(document["python"]).is_absolute()
    # The package need not be installed where the framework is.
    assert environment["PYTHONPATH"] == "src" and document["workdir"] == "."
    assert environment["CUDA_MODULE_LOADING"] == ("EAGER" if "_eager" in path.stem else "LAZY")
    assert document["output"]["compare"] == "digest_file"
    options = document["command"]
    assert document["output"]["path"] == options[options.index("--output") + 1]
    if program_of(document).stem not in FRAMEWORKS or "torch" in document["framework"].lower():
        assert environment["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    assert ("epoch" in document["marks"]) == ("--epochs" in options)


@pytest.mark.parametrize("path", [p for p in GPU if "_eager" in p.stem], ids=lambda p: p.stem)
def test_eager_twin_differs_in_loading_alone(path):
    eager, lazy = load(path), load(path.with_name(path.name.replace("_eager", "")))
    assert eager["env"] == {**lazy["env"], "CUDA_MODULE_LOADING": "EAGER"}
    for document in (eager, lazy):
        for key in ("name", "description", "env"):
            del document[key]
    assert eager == lazy


def test_every_gpu_workload_is_in_an_experiment_or_says_that_it_was_not_measured():
    experiments = (ROOT / "conf" / "experiment").glob("gpu_*.yaml")
    run = {name for path in experiments for name in load(path)["experiment"]["targets"]}
    for path in GPU:
        unmeasured = "GPU run not measured" in load(path)["description"]
        assert (path.stem in run) != unmeasured


def test_two_processes_are_started_by_torchrun_without_multicast():
    document = load(ROOT / "conf" / "workload" / "mobilenetv2_ddp_2gpu.yaml")
    assert document["command"][:3] == ["python", "-m", "torch.distributed.run"]
    assert document["command"][document["command"].index("--nproc-per-node") + 1] == "2"
    assert document["env"]["NCCL_NVLS_ENABLE"] == "0"
