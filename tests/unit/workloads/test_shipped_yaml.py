"""Every shipped workload's YAML against the program that it names, without any framework."""

import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from shipped_configurations import SHIPPED

from trimtab.config.groups.workload import Workload
from trimtab.profiling.runs.from_workload import command_line

ROOT = Path(__file__).parents[3]
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


def program_of(workload: Workload) -> Path:
    [name] = [word for word in command_line(workload) if word.endswith(".py")]
    return ROOT / name


def options_of(workload: Workload) -> list[str]:
    words = command_line(workload)
    [position] = [place for place, word in enumerate(words) if word.endswith(".py")]
    return words[position + 1 :]


# By their names: every worker of the tests would take seconds to compose them all.
NAMES = sorted(path.stem for path in (ROOT / "conf" / "workload").glob("*.yaml"))
GPU = [name for name in NAMES if "_cuda" in name or name.endswith("gpu")]


@pytest.fixture
def workload(name: str) -> Workload:
    shipped: Workload = SHIPPED.option("workload", name)
    return shipped


def test_the_names_of_workloads_tell_which_run_on_a_gpu():
    shipped = SHIPPED.options("workload", NAMES)
    assert len(GPU) >= 15
    assert [one.name for one in shipped if "CUDA_MODULE_LOADING" in one.env] == GPU


@pytest.mark.parametrize("name", GPU)
def test_program_is_there_and_knows_the_options(workload, monkeypatch, capsys):
    program = program_of(workload)
    assert program.parent == PROGRAMS and program.is_file()
    for framework in FRAMEWORKS.values():
        monkeypatch.setitem(sys.modules, framework, None)  # importing it raises
    # Parsed by the program itself: --help at the end answers once the words before it are right.
    monkeypatch.setattr(sys, "argv", [program.name, *options_of(workload), "--help"])
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


@pytest.mark.parametrize("name", GPU)
def test_gpu_workloads_run_anywhere_and_repeat(workload):
    assert not Path(workload.python).is_absolute()
    # The package need not be installed where the framework is.
    assert workload.env["PYTHONPATH"] == "src" and workload.workdir == "."
    eager = "_eager" in workload.name
    assert workload.env["CUDA_MODULE_LOADING"] == ("EAGER" if eager else "LAZY")
    assert workload.output.compare == "digest_file"
    options = options_of(workload)
    assert workload.output.path == options[options.index("--output") + 1]
    if program_of(workload).stem not in FRAMEWORKS or "torch" in workload.framework.lower():
        assert workload.env["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    assert (workload.marks.epoch is not None) == ("--epochs" in options)


@pytest.mark.parametrize("name", [name for name in GPU if "_eager" in name])
def test_eager_twin_differs_in_loading_alone(name):
    eager, lazy = SHIPPED.options("workload", [name, name.removesuffix("_eager")])
    assert eager == replace(
        lazy,
        name=eager.name,
        description=eager.description,
        env={**lazy.env, "CUDA_MODULE_LOADING": "EAGER"},
    )


def test_every_gpu_workload_is_in_an_experiment_or_says_that_it_was_not_measured():
    experiments = SHIPPED.options(
        "experiment", [path.stem for path in (ROOT / "conf" / "experiment").glob("gpu_*.yaml")]
    )
    run = {name for experiment in experiments for name in experiment.workloads}
    for workload in SHIPPED.options("workload", GPU):
        unmeasured = "GPU run not measured" in workload.description
        assert (workload.name in run) != unmeasured


def test_two_processes_are_started_by_torchrun_without_multicast():
    workload = SHIPPED.option("workload", "mobilenetv2_ddp_2gpu")
    assert command_line(workload)[:3] == ["python", "-m", "torch.distributed.run"]
    assert command_line(workload)[command_line(workload).index("--nproc-per-node") + 1] == "2"
    assert workload.env["NCCL_NVLS_ENABLE"] == "0"


def test_the_commands_of_a_training_and_of_its_twin_on_a_gpu():
    cpu, gpu = SHIPPED.options("workload", ["mobilenetv2_train", "mobilenetv2_train_cuda"])
    start = ["python", "src/trimtab/workloads/mobilenetv2.py", "--phase", "train",
             "--output", "{output}/metrics.json"]  # fmt: skip
    assert command_line(cpu) == [*start, "--train-samples", "512", "--test-samples", "100",
                         "--batch-size", "16"]  # fmt: skip
    assert command_line(gpu) == [*start, "--batch-size", "16", "--device", "cuda", "--epochs", "3"]
