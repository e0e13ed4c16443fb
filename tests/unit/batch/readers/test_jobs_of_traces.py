"""Published traces as jobs of a batch system."""

from pathlib import Path

import pandas as pd
import pytest
from batch_jobs_checks import check

from trimtab.batch.readers.gpu_models import gpu_model
from trimtab.batch.readers.read import READERS, read_jobs
from trimtab.errors import UserError

SAMPLES = Path(__file__).parent / "samples"
TRACES = Path(__file__).parents[2] / "traces" / "samples"
GIB = 2**30


@pytest.mark.parametrize(
    ("name", "expected", "run_s", "cpu_milli", "gpu_milli"),
    [
        ("batch_task.csv", "alibaba_2018", [10, 60, 60], [500, 1000, 1000], 0),
        ("instance_events.json", "google_2019", [3.25], [500], 0),
        ("invocations_2021.txt", "azure_functions_2021", [42, 0.25], [1000, 1000], 0),
        ("llm.csv", "azure_llm", [1.1616, 0.796, 0.04], [1000] * 3, 1000),
        ("philly_log.json", "philly_log", [1, 3601], [1000, 3000], [1000, 3000]),
        ("philly_table.csv", "philly_table", [2951, 66], [4000, 1000], [4000, 1000]),
        ("task_events.csv", "google_2011", [10, 9.5], [4000, 16000], 0),
        ("openb_pod_list.csv", "alibaba_gpu_2023", [1, 970, 50], [9100, 12000, 6000],
         [2000, 1000, 460]),
        ("small.swf", "swf", [60, 45, 30, 10, 10], [1000] * 5, 0),
    ],
)  # fmt: skip
def test_each_is_recognised_whatever_its_name(
    tmp_path: Path, name: str, expected: str, run_s: list[float], cpu_milli: list[int],
    gpu_milli: object,
) -> None:  # fmt: skip
    path = TRACES / name
    if expected != "google_2019":  # which tells JSON from CSV by the name
        path = tmp_path / "jobs"
        path.write_bytes((TRACES / name).read_bytes())
    found = read_jobs(path)
    jobs = check(found)[: len(run_s)]
    assert found.format == expected and found.remarks
    assert jobs["run_s"].tolist() == pytest.approx(run_s)
    assert jobs["cpu_milli"].tolist() == cpu_milli
    assert (jobs["gpu_milli"] == gpu_milli).all()
    assert read_jobs(path, expected).jobs.equals(found.jobs)


def test_tasks_of_pai() -> None:
    found = read_jobs(TRACES / "pai_task_table.csv")
    jobs = check(found)
    assert found.format == "alibaba_gpu_2020" and found.skipped == {"not terminated well": 1}
    assert jobs["name"].tolist() == ["job_b", "job_b", "job_b", "job_d", "job_a"]
    assert jobs["gpu_milli"].tolist() == [0, 0, 2000, 1000, 500]
    assert jobs["gpu_type"].tolist() == ["", "", "t4", "t4", ""]  # MISC is any


def test_openb_keeps_models_and_starts() -> None:
    jobs = check(read_jobs(TRACES / "openb_pod_list.csv"))
    assert jobs["name"].tolist()[:3] == ["pod-4", "pod-0", "pod-1"]
    assert jobs["gpu_type"].tolist()[:3] == ["", "", "v100"]  # of 16 or 32 GB
    assert jobs["recorded_start_s"].tolist()[:3] == [1, 25, 15]
    real, table = check(read_jobs(SAMPLES / "openb.csv")), pd.read_csv(SAMPLES / "openb.csv")
    ran = table[~table["pod_phase"].isin(["Pending", "Failed"])].sort_values("creation_time")
    assert sorted(real["name"]) == sorted(ran["name"])
    assert real["memory_bytes"].sum() == ran["memory_mib"].sum() * 2**20
    assert real["run_s"].sum() == (ran["deletion_time"] - ran["scheduled_time"]).sum()


def test_wide_jobs_of_philly_have_parts() -> None:
    table = pd.read_csv(SAMPLES / "philly.csv")
    jobs = check(read_jobs(SAMPLES / "philly.csv"))
    gpus = jobs["parts"] * jobs["gpu_milli"] / 1000
    assert sorted(gpus) == sorted(table["num_gpus"]) and gpus.max() == 32
    assert jobs.loc[gpus == 32, "parts"].tolist() == [4, 4, 4]
    assert (jobs["gpu_milli"] <= 8000).all()


@pytest.mark.parametrize(
    ("text", "model"),
    [("NVIDIA-A100-SXM4-80GB", "a100"), ("NVIDIA-H100-80GB-HBM3", "h100"), ("tesla_v100", "v100"),
     ("V100M32", "v100"), ("V100M16|V100M32", "v100"), ("T4|P100", ""), ("NVIDIA L40S", "l40s"),
     ("nvidia-tesla-t4", "t4"), ("AMD Instinct MI300X", "mi300x"), ("NVIDIA GH200 480GB", "gh200"),
     ("Quadro RTX 6000", "rtx6000"), ("NVIDIA-GeForce-RTX-3090", "rtx3090"), ("A10G", "a10g"),
     ("a100_1g.5gb", "a100"), ("1g.5gb", ""), ("G2", "g2"), ("", ""), ("NVIDIA A40", "a40"),
     ("gtx1080ti", "1080ti"), ("rtx_2080ti", "rtx2080ti"), ("NVIDIA-A100-PCIE-40GB", "a100")],
)  # fmt: skip
def test_models_of_gpus(text: str, model: str) -> None:
    assert gpu_model(text) == model


def test_what_is_nearly_a_format_says_which(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    for text, expected in (
        (
            "apiVersion: v1\nitems: []\n",
            "YAML; expected JSON: kubectl get nodes,pods,jobs -A -o json",
        ),
        ("some words\n", "no columns in the first line"),
        ('{"rows": []}', "JSON of none of the known kinds"),
        ("sn,cpu_milli,memory_mib,gpu,model\n", "no column of the submission"),
    ):
        path.write_text(text)
        with pytest.raises(UserError, match=expected):
            read_jobs(path)


def test_a_format_by_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected one of csv, sacct, swf, kubernetes, "):
        read_jobs(TRACES / "small.swf", "pbs")
    path = tmp_path / "jobs"
    path.write_text("submit,run,cores\n0,1,1\n")
    for name in READERS:
        if name != "csv":  # each of the others refuses it
            with pytest.raises(UserError, match=str(path)):
                read_jobs(path, name)
