"""What programs that use a model report of their batches, and what is made of it."""

import math
import threading
from pathlib import Path

import pytest
from shipped_configurations import SHIPPED
from trial_programs import marks, workload

import trimtab_trial
from trimtab.profiling.meters.power_model import NO_POWER_MODEL, HardwareModel
from trimtab.tuning.inference import serving
from trimtab.tuning.inference.emulation import InferenceConfiguration
from trimtab.tuning.inference.serving import InferenceRounds, Served, batches_of, served
from trimtab.tuning.scoring.score import Failure
from trimtab.tuning.trials.events import EndReason, EpochEnd, TrialEnded
from trimtab.tuning.trials.protocol import BrokenProtocolError

PROJECT = Path(__file__).resolve().parents[4]
ONE = InferenceConfiguration(batch_size=4, cores=1)
DEVICE = HardwareModel("device", 4, 2.0, 6.0, 0.0, 1.0, 0.5, "made up")

# A batch takes 2 ms of the processor, of a loader with five.
SERVING = """
import time
import trimtab_trial
for batch in trimtab_trial.batches(range(5)):
    spent = time.process_time()
    while time.process_time() - spent < 0.002:
        pass
"""


def serve(code: str, folder: Path, hardware: HardwareModel = DEVICE, **keys) -> Served | Failure:  # type: ignore[no-untyped-def]
    of = workload(code, **keys)
    return served(of, {}, ONE, hardware, folder, is_this_machine=False, timeout_s=20.0)


def test_the_time_and_the_energy_of_a_sample(tmp_path: Path) -> None:
    result = serve(SERVING, tmp_path)
    assert isinstance(result, Served)
    assert result.inference_s * 4 >= 0.002
    assert len(result.batch_s) >= 3 and min(result.batch_s) >= 0.002
    assert result.energy_kind == "modelled" and result.not_set == {}
    # 2 W idle and 1 W for each busy core: between one that is idle and one that is busy.
    assert 2 < result.inference_j / result.inference_s < 3.1
    assert result.peak_rss_bytes > 1 << 20


def test_a_machine_without_power_figures_has_no_energy(tmp_path: Path) -> None:
    result = serve(SERVING, tmp_path, NO_POWER_MODEL)
    assert isinstance(result, Served)
    assert math.isnan(result.inference_j) and result.energy_kind == "unknown"


def test_a_program_may_report_by_marks(tmp_path: Path) -> None:
    code = "while True: print('batch took 0.1', flush=True)"
    result = serve(code, tmp_path, marks=marks(r"^batch took (?P<batch_s>\S+)"))
    assert isinstance(result, Served)
    assert result.inference_s == pytest.approx(0.1 / 4)


def test_a_share_of_the_time_makes_it_slower_once_it_is_warm(tmp_path: Path) -> None:
    of = workload(SERVING)
    result = served(
        of, {}, ONE, DEVICE, tmp_path, cpu_share=0.25, is_this_machine=False, timeout_s=30.0
    )
    assert isinstance(result, Served) and "cpu_share" not in result.not_set
    # All that counts was slowed down: four times, were nothing else at work here.
    assert result.inference_s * 4 >= 0.002 * 2.5


def test_a_slower_device_takes_longer_at_the_same_power() -> None:
    once = Served(0.1, (0.2, 0.4), 0.6, "modelled", 5)
    assert once.times(3.0) == Served(
        pytest.approx(0.3), (pytest.approx(0.6), pytest.approx(1.2)), pytest.approx(1.8),
        "modelled", 5,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise MemoryError", "out of memory"),
        ("import os; os.abort()", "crashed"),
        ("print('nothing')", "reported no batch"),
        ("import trimtab_trial as t; t.epoch_end(0, loss=1)", "no batch: call"),
        ("import trimtab_trial as t; t.epoch_end(0, batches=1, served_s=-1, batch_0_s=1)", "above"),
        ("import trimtab_trial as t; list(t.batches([]))", "no batch: nothing can be measured"),
        ("import trimtab_trial as t; t.epoch_end(0, batch_s=float('nan'))", "not a number"),
    ],
)
def test_a_failure_has_its_reason(tmp_path: Path, code: str, reason: str) -> None:
    result = serve(code, tmp_path)
    assert isinstance(result, Failure) and reason in result.reason, result


def test_a_batch_that_takes_too_long_is_a_failure(tmp_path: Path) -> None:
    code = "import trimtab_trial as t\nfor batch in t.batches([1]):\n    while True: pass"
    result = served(workload(code), {}, ONE, DEVICE, tmp_path, timeout_s=1.0)
    assert isinstance(result, Failure) and "time limit" in result.reason


def test_what_is_served_ends_when_nobody_waits_for_it(tmp_path: Path) -> None:
    """A program that hangs: its end is heard, and it does not wait for the time limit."""
    code = "import os, signal\nopen('pid', 'w').write(str(os.getpid()))\nsignal.pause()"
    stopped, ends, found = threading.Event(), list[TrialEnded](), list[Served | Failure]()
    of = workload(code, workdir=str(tmp_path))

    def serve_it() -> None:
        folder = tmp_path / "folder"
        found.append(served(of, {}, ONE, DEVICE, folder, stopped=stopped, on_end=ends.append))

    thread = threading.Thread(target=serve_it)
    thread.start()
    while not (tmp_path / "pid").exists():
        thread.join(0.01)
    stopped.set()
    thread.join(20)
    assert not thread.is_alive() and found == [Failure("was stopped with its search")]
    assert [end.reason for end in ends] == [EndReason.KILLED] and ends[0].wall_s > 0


def test_without_a_tuner_batches_are_gone_through_once() -> None:
    assert list(trimtab_trial.batches([1, 2, 3])) == [1, 2, 3]


def epoch(**metrics: float) -> EpochEnd:
    return EpochEnd(0, 1.0, 1.0, metrics, {}, {}, waits=True)


def test_the_warm_up_does_not_count_and_the_mean_is_of_all_batches() -> None:
    rounds = InferenceRounds()
    assert not rounds.add(epoch(batches=1, served_s=9.0, batch_0_s=9.0))
    assert not rounds.enough
    assert rounds.add(epoch(batches=4, served_s=0.4, batch_0_s=0.1, batch_1_s=0.2))
    assert not rounds.enough  # 0.4 s are too few
    assert rounds.add(epoch(batches=1, served_s=0.6, batch_0_s=0.6))
    assert rounds.enough
    assert rounds.mean_s == pytest.approx(1.0 / 5)
    assert rounds.batch_s == [0.1, 0.2, 0.6]


def test_many_batches_are_reported_by_their_sum_and_some_times() -> None:
    times = [0.001 * (1 + number) for number in range(1500)]
    reported = trimtab_trial._of_round(times, sum(times))
    count, served_s, shown = batches_of(reported)
    assert count == 1500 and served_s == pytest.approx(sum(times))
    assert shown == times[::3] and len(shown) <= 500


@pytest.mark.parametrize(
    "metrics", [{"accuracy": 1.0}, {"batch_s": 0.0}, {"batches": 0.5, "served_s": 1.0}]
)
def test_what_is_no_batch_is_refused(metrics: dict[str, float]) -> None:
    with pytest.raises(BrokenProtocolError):
        batches_of(metrics)


def test_lenet5_is_served_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    monkeypatch.setattr(serving, "_MEASURED_S", 0.2)
    lenet5 = SHIPPED.option("workload", "lenet5_inference")
    result = served(lenet5, {}, InferenceConfiguration(600, 1), DEVICE, tmp_path)
    assert isinstance(result, Served), result
    assert 1e-7 < result.inference_s < 1
