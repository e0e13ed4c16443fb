"""Probing runs real programs on this host; cpufreq, which it may lack, is a folder of files."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from sklearn.cluster import KMeans

from trimtab.config.groups.hardware import Hardware
from trimtab.config.validate import checked
from trimtab.errors import UserError
from trimtab.execution.probing import TASKS, ProbingTask, probe, probe_host
from trimtab.execution.sprinting.frequencies import Governors
from trimtab.policies.facts import Asked, ProbeRun
from trimtab.policies.heats.predictions import fit
from trimtab.profiling.meters.power_model import NO_POWER_MODEL, HardwareModel
from trimtab.profiling.meters.rapl import Rapl
from trimtab.workloads.probes import k_means, matrix_multiplication

CPUS = sorted(os.sched_getaffinity(0))
HOST = HardwareModel("host", len(CPUS), 2.0, 2.0 + 10.0 * len(CPUS), 0.0, 8.0, 0.5, "a test")
NO_GOVERNORS = Governors(Path("/nonexistent"))
# Counts for as many CPU seconds as it is told, on the one thread that it has.
BUSY = "import time\nwhile time.process_time() < {work} / 10: sum(range(1000))"
SAYS_CORES = "import os, sys; sys.exit(len(os.sched_getaffinity(0)) != int(sys.argv[1]))"


def python(name: str, code: str, *words: str, works: tuple[int, ...] = (1,)) -> ProbingTask:
    return ProbingTask(name, (sys.executable, "-c", code, *words), works)


def as_configured(document: dict[str, Any]) -> Hardware:
    return checked(document, Hardware)


def cpufreq(root: Path, offered: str = "performance powersave", cpus: int = 2) -> Path:
    for cpu in range(cpus):
        folder = root / f"cpu{cpu}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text("ondemand\n")
        (folder / "scaling_available_governors").write_text(f"{offered}\n")
        (folder / "cpuinfo_min_freq").write_text("800000\n")
        (folder / "cpuinfo_max_freq").write_text("3800000\n")
    return root


@pytest.mark.skipif(bool(Rapl().domains), reason="here RAPL measures, and the model is not asked")
def test_probes_of_this_host_by_the_power_model() -> None:
    """One busy thread takes 10 W above idle, however many cores it may use."""
    document = probe_host(
        "host", [python("busy", BUSY, works=(2, 4))], hardware=HOST, governors=NO_GOVERNORS
    )
    node = as_configured(document)
    asked = [(one.task, one.cores, one.work, one.level) for one in node.probes]
    counts = range(1, len(CPUS) + 1)
    assert asked == [("busy", count, work, 0) for count in counts for work in (2, 4)]
    for one in node.probes:
        assert one.energy_source == "modelled"
        assert one.wall_s >= one.work / 10
        # At least what it counted for; its start takes CPU time too.
        assert one.work / 10 * 10.0 * 0.9 <= one.energy_j <= 10.0 * one.wall_s * 1.1 + 1.0
        assert 0.001 < one.memory_gib < 1
    assert node.levels == [] and "no cpufreq" in node.description


def test_a_task_gets_exactly_its_cores() -> None:
    probe_host(
        "host", [python("cores", SAYS_CORES, "{cores}")], hardware=HOST, governors=NO_GOVERNORS
    )


def test_own_tasks_and_commands_become_a_file_that_heats_learns_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, task in list(TASKS.items()):
        monkeypatch.setitem(TASKS, name, ProbingTask(name, task.command, (1, 4), task.environment))
    output = tmp_path / "my_host.yaml"
    commands = {"mine": [sys.executable, "-c", "print('{cores}')"]}
    probe("my_host", output, hardware=HOST, commands=commands)
    node = as_configured(yaml.safe_load(output.read_text()))
    assert {one.task for one in node.probes} == {"k_means", "matrix_multiplication", "mine"}
    assert len(node.probes) == 5 * len(CPUS)
    seen = [
        ProbeRun("my_host", one.cores, one.memory_gib, 0, one.wall_s, max(one.energy_j, 1e-3))
        for one in node.probes
    ]
    run_time_s, energy_j = fit({"my_host": seen}).predict("my_host", Asked(1, 0.1, 1.0), 0)
    assert run_time_s > 0 and energy_j > 0
    with pytest.raises(UserError, match="is there already"):
        probe("my_host", output, hardware=HOST, commands=commands)


def test_governors_are_set_and_set_back(tmp_path: Path) -> None:
    """A program that is slower under powersave, as it reads the file that a kernel would."""
    root = cpufreq(tmp_path / "cpu")
    governor = root / "cpu0" / "cpufreq" / "scaling_governor"
    code = (
        "import sys, time\n"
        "slow = open(sys.argv[1]).read() == 'powersave'\n"
        "while time.process_time() < (0.6 if slow else 0.15): sum(range(1000))"
    )
    document = probe_host(
        "host",
        [python("busy", code, str(governor))],
        hardware=HOST,
        governors=Governors(root),
    )
    node = as_configured(document)
    assert [one.level for one in node.probes] == [0] * len(CPUS) + [1] * len(CPUS)
    slow, fast = node.levels
    assert (slow.frequency_ghz, fast.frequency_ghz) == (0.8, 3.8)
    assert 0.1 < slow.speed < 0.9 and fast.speed == 1.0
    assert HOST.idle_w < slow.busy_w <= fast.busy_w == HOST.busy_w
    for file in root.glob("*/cpufreq/scaling_governor"):
        assert file.read_text() == "ondemand"


def test_governors_are_set_back_when_a_task_fails(tmp_path: Path) -> None:
    root = cpufreq(tmp_path / "cpu")
    task = python("fails", "raise SystemExit('no such data')")
    with pytest.raises(UserError, match=r"fails.*exit code 1.*no such data"):
        probe_host("host", [task], hardware=HOST, governors=Governors(root))
    assert (root / "cpu1" / "cpufreq" / "scaling_governor").read_text() == "ondemand"


def test_hosts_whose_governors_cannot_be_set(tmp_path: Path) -> None:
    assert "no cpufreq" in Governors(tmp_path).missing
    assert "offers schedutil only" in Governors(cpufreq(tmp_path / "a", "schedutil")).missing
    if os.geteuid():
        root = cpufreq(tmp_path / "b")
        (root / "cpu1" / "cpufreq" / "scaling_governor").chmod(0o444)
        assert "cannot be written" in Governors(root).missing
    assert Governors(tmp_path).names == ()


def test_a_users_file_is_never_overwritten_unasked(tmp_path: Path) -> None:
    output = tmp_path / "mine.yaml"
    output.write_text("precious")
    ran = tmp_path / "ran"
    commands = {"x": [sys.executable, "-c", f"open({str(ran)!r}, 'w')"]}
    with pytest.raises(UserError, match=r"mine\.yaml: is there already"):
        probe("mine", output, hardware=HOST, tasks=[], commands=commands)
    assert output.read_text() == "precious" and not ran.exists()
    with pytest.raises(UserError, match=r"has to be called mine\.yaml"):
        probe("mine", tmp_path / "other.yaml", hardware=HOST, tasks=[], commands=commands)
    assert not ran.exists()
    probe("mine", output, hardware=HOST, tasks=[], commands=commands, overwrite=True)
    assert yaml.safe_load(output.read_text())["name"] == "mine" and ran.exists()


def test_what_cannot_be_probed(tmp_path: Path) -> None:
    small = HardwareModel("small", 1, 1.0, 2.0, 0.0, 1.0, 0.0, "a test")
    if len(CPUS) > 1:
        with pytest.raises(UserError, match="small has 1 cores, this host"):
            probe_host("host", [python("x", "")], hardware=small)
    with pytest.raises(UserError, match="nothing to probe"):
        probe_host("host", [], hardware=HOST)
    with pytest.raises(UserError, match="'kmeans' is unknown; there are: k_means"):
        probe("host", tmp_path / "host.yaml", hardware=HOST, tasks=["kmeans"])
    with pytest.raises(UserError, match=r"x: '/nonexistent/program': no such program"):
        task = ProbingTask("x", ("/nonexistent/program",))
        probe_host("host", [task], hardware=HOST, governors=NO_GOVERNORS)
    if not Rapl().domains and len(CPUS) == 1:
        with pytest.raises(UserError, match="energy of this host is unknown"):
            probe_host("host", [python("x", "")], hardware=NO_POWER_MODEL)


def test_k_means_finds_what_scikit_learn_finds() -> None:
    """From the same start Lloyd's algorithm has one course: ten iterations, two implementations."""
    rng = np.random.default_rng(0)
    true_centres = rng.normal(scale=4.0, size=(k_means.CLUSTERS, k_means.DIMENSIONS))
    points = true_centres[rng.integers(k_means.CLUSTERS, size=k_means.POINTS)]
    points = points + rng.normal(size=points.shape)
    start = points[rng.choice(k_means.POINTS, k_means.CLUSTERS, replace=False)]
    theirs = KMeans(k_means.CLUSTERS, init=start, n_init=1, max_iter=4, tol=0).fit(points)
    centres, _ = k_means.run(4, workers=2)
    assert centres == pytest.approx(theirs.cluster_centers_, abs=1e-9)
    again, mean = k_means.run(5, workers=1)
    assert mean == pytest.approx(theirs.inertia_ / k_means.POINTS)
    assert not np.array_equal(again, centres)


def test_workers_change_nothing_of_the_result() -> None:
    one, two = (k_means.run(3, workers=workers) for workers in (1, 2))
    assert np.array_equal(one[0], two[0]) and one[1] == two[1]
    norms = [matrix_multiplication.run(3, workers=workers) for workers in (1, 2)]
    assert norms[0] == pytest.approx(norms[1])
    # Each product with a matrix of independent normal numbers lengthens by the root of its size.
    assert norms[0] == pytest.approx(1024 * np.sqrt(1024), rel=0.02)
