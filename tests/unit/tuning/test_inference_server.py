"""The inference tuning server, over measurements whose costs are known."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from spaces import choices, tuning

from trimtab.records.tuning.inference import MeasuredInference
from trimtab.tuning.inference.choice import Setting, Wanted
from trimtab.tuning.inference.effort import MeasurementCost
from trimtab.tuning.inference.known import KnownInference
from trimtab.tuning.inference.plan import InferencePlan
from trimtab.tuning.inference.server import InferenceServer
from trimtab.tuning.scoring.score import Failure
from trimtab.tuning.trials.events import EndReason

TUNING = tuning(
    model={"layers": choices(18, 34), "dropout": {"low": 0.0, "high": 1.0, "default": 0.0}},
    inference={"batch_size": choices(1, 2, 4, 8), "cores": choices(1)},
)
CPUS = sorted(os.sched_getaffinity(0))[-1:]
Begin = Callable[[Any], Future[None]]
WIDE = tuning(
    model={"layers": choices(18, 34)},
    inference={"batch_size": {"low": 1, "high": 512, "whole": True, "default": 1}},
)


class Device:
    """A batch takes 1 s and a hundredth of the layers a sample; each is written down.

    Where it is not free, no measurement ends before it is let.
    """

    def __init__(self, failing: tuple[int, ...] = ()) -> None:
        self.measured: list[tuple[int, int]] = []
        self.failing = failing
        self.cpus: set[frozenset[int]] = set()
        self.let = threading.Semaphore(0)
        self.is_free = True

    def __call__(
        self,
        architecture: Mapping[str, Any],
        configuration: Mapping[str, Setting],
        cpus: Sequence[int],
        folder: Path,
    ) -> MeasuredInference:
        if not self.is_free:
            self.let.acquire()
        assert folder.is_dir() and cpus == CPUS
        self.cpus.add(frozenset(os.sched_getaffinity(0)))
        size = int(configuration["batch_size"])
        self.measured.append((architecture["layers"], size))
        if size in self.failing:
            return MeasuredInference(dict(configuration), failure=f"no memory for {size}")
        batch_s = 1 + architecture["layers"] / 100 * size
        return MeasuredInference(dict(configuration), batch_s / size, 5.0, "modelled", [batch_s])


def server(folder: Path, device: Device, of: Any = TUNING, configurations: int = 4) -> Any:
    return InferenceServer(
        of, ["layers"], InferencePlan("tpe", configurations), Wanted.TIME, None,
        KnownInference(folder / "known.json", "host", "0" * 64), device, folder / "search",
        cpus=1, seed=1, effort=MeasurementCost(),
    )  # fmt: skip


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Have a server work, as a search does that has CPUs for it, in a thread of its own."""
    with ThreadPoolExecutor() as threads:

        def begun(of: Any) -> Future[None]:
            assert of.cpus_wanted == 1
            return threads.submit(of.work, CPUS)

        yield begun


def wait_for(of: Any, complete: Mapping[str, Any], count: int) -> None:
    with of._changed:
        of._changed.wait_for(lambda: of.outcome(complete).measured >= count)


def whole(layers: int, dropout: float = 0.0) -> dict[str, Any]:
    return {"model.layers": layers, "model.dropout": dropout, "training.batch_size": 32}


def test_everything_is_measured_once_and_trials_of_an_architecture_share_it(
    tmp_path: Path, begin: Begin
) -> None:
    device = Device()
    with server(tmp_path, device) as of:
        assert of.cpus_wanted == 0
        for trial in range(6):  # on and on, as rungs do
            of.started(trial, whole(18, dropout=trial / 10))
            if trial == 0:
                begin(of)
            metrics = of.metrics(trial)
            assert metrics["inference_s"] >= 0.18 + 1 / 8
            assert of.cpus_wanted == 0
        of.started(7, whole(34))
        begin(of)
        assert of.metrics(7)["inference_s"] >= 0.34
    assert len(set(device.measured)) == len(device.measured)
    assert device.cpus == {frozenset(CPUS)}
    before = list(device.measured)
    # Another search knows it, in another process as well, and measures what is left alone.
    with server(tmp_path, device) as of:
        of.started(0, whole(18))
        assert of.cpus_wanted == 0 and of.is_known(0)
        assert of.metrics(0) == {"inference_s": 0.18 + 1 / 8, "inference_j": 5.0}
    assert device.measured == before
    known = server(tmp_path, device)
    outcome = known.outcome(whole(18, 0.3))
    assert (outcome.measured, outcome.planned) == (4, 4) and outcome.architecture == {"layers": 18}
    assert outcome.best is not None and outcome.best.configuration == {"batch_size": 8, "cores": 1}


def test_it_has_its_cpus_until_nothing_is_left(tmp_path: Path, begin: Begin) -> None:
    device = Device()
    device.is_free = False
    with server(tmp_path, device) as of:
        of.started(0, whole(18))
        work = begin(of)
        device.let.release(3)
        wait_for(of, whole(18), 3)
        of.started(1, whole(34))  # it goes on with that
        device.let.release()
        wait_for(of, whole(18), 4)
        assert of.cpus_wanted == 1 and not work.done()
        device.let.release(4)
        work.result()
        assert of.cpus_wanted == 0 and of.is_known(0) and of.is_known(1)


def test_trials_of_an_architecture_are_judged_by_the_same(tmp_path: Path, begin: Begin) -> None:
    device = Device()
    device.is_free = False
    with server(tmp_path, device) as of:
        of.started(0, whole(18))
        begin(of)
        device.let.release()
        wait_for(of, whole(18), 1)  # it is known what one configuration costs
        device.let.release(3)
        assert of.metrics(0)["inference_s"] == 0.18 + 1 / 8
        of.started(1, whole(18, dropout=0.5))
        assert of.metrics(1)["inference_s"] == 0.18 + 1 / 8
        assert of.outcome(whole(18)).measured == of.outcome(whole(18)).planned == 4


def test_failures_have_reasons_and_end_nothing(tmp_path: Path, begin: Begin) -> None:
    device = Device(failing=(1, 2, 4))
    with server(tmp_path, device) as of:
        of.started(0, whole(18))
        begin(of)
        assert of.metrics(0) == {"inference_s": 0.18 + 1 / 8, "inference_j": 5.0}
    broken = Device(failing=(1, 2, 4, 8))
    (tmp_path / "known.json").unlink()
    with server(tmp_path, broken) as of:
        of.started(0, whole(18))
        begin(of)
        failure = of.metrics(0)
        assert isinstance(failure, Failure) and failure.reason.startswith("inference: no memory")
        assert of.outcome(whole(18)).best is None
        of.started(1, whole(34))
        begin(of)
        assert isinstance(of.metrics(1), Failure)


def test_of_a_program_that_hangs_no_other_configuration_is_waited_for(
    tmp_path: Path, begin: Begin
) -> None:
    tried = []

    def hangs(_: Any, configuration: Mapping[str, Setting], *__: object) -> MeasuredInference:
        tried.append(configuration)
        if len(tried) == 1:
            return MeasuredInference(dict(configuration), 0.5, 5.0, "modelled", [0.5])
        return MeasuredInference(dict(configuration), failure=f"{EndReason.TIMED_OUT}: was killed")

    with server(tmp_path, hangs) as of:  # type: ignore[arg-type]
        of.started(0, whole(18))
        begin(of)
        assert of.metrics(0) == {"inference_s": 0.5, "inference_j": 5.0}
        of.started(1, whole(34))
        begin(of)
        failure = of.metrics(1)
    assert isinstance(failure, Failure) and failure.reason.startswith("inference: timed out")
    assert len(tried) == 3 and of.outcome(whole(18)).measured == 2


def test_tpe_suggests_what_was_not_measured_and_learns(tmp_path: Path, begin: Begin) -> None:
    device = Device(failing=(512,))
    for configurations in (6, 14):  # the second search goes on from the first
        with server(tmp_path, device, WIDE, configurations) as of:
            of.started(0, {"model.layers": 18})
            begin(of).result()
            of.metrics(0)
        assert len(set(device.measured)) == len(device.measured) == configurations
    sizes = [size for _, size in device.measured]
    assert max(sizes) > 256


def test_what_is_known_of_another_space_is_left_out(tmp_path: Path) -> None:
    known = KnownInference(tmp_path / "known.json", "host", "0" * 64)
    for odd in ({"batch_size": 3, "cores": 1}, {"batch_size": 1}, {"batch_size": 1, "gpus": 1}):
        known.add({"layers": 18}, MeasuredInference(odd, 0.01, 1.0, "", [0.01]))
    assert server(tmp_path, Device()).outcome(whole(18)).measured == 0
    known.add({"layers": 18}, MeasuredInference({"batch_size": 1, "cores": 1}, 0.5, 1.0, "", [0.5]))
    assert server(tmp_path, Device()).outcome(whole(18)).measured == 1


def test_a_search_that_breaks_ends_what_is_measured(tmp_path: Path, begin: Begin) -> None:
    began = threading.Event()

    def endless(*_: Any) -> MeasuredInference:
        began.set()
        of._effort.stopped.wait()
        return MeasuredInference({"batch_size": 1, "cores": 1}, failure="was stopped")

    of = server(tmp_path, endless)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt), of:
        of.started(0, whole(18))
        work = begin(of)
        began.wait()
        raise KeyboardInterrupt
    assert not of._works
    work.result()
    assert of.outcome(whole(18)).measured == 1


def test_what_breaks_in_its_work_is_raised_there(tmp_path: Path, begin: Begin) -> None:
    def broken(*_: Any) -> MeasuredInference:
        raise OSError("the disk is full")

    with server(tmp_path, broken) as of:  # type: ignore[arg-type]
        of.started(0, whole(18))
        with pytest.raises(OSError, match="disk is full"):
            begin(of).result()


def test_whether_it_would_wait_and_the_end_of_the_wait(tmp_path: Path, begin: Begin) -> None:
    device, told = Device(), list[Any]()
    device.is_free = False
    with server(tmp_path, device) as of:
        of.started(0, whole(18))
        of.started(1, whole(34))
        assert not of.is_known(0)
        of.dropped(1)
        work = begin(of)
        device.let.release(4)
        work.result()
        assert of.is_known(0) and of.metrics(0)["inference_s"] == 0.18 + 1 / 8
        of.started(2, whole(34))
        waiting = threading.Thread(target=lambda: told.append(of.metrics(2)))
        waiting.start()
        with of._changed:
            of._closing = True
            of._changed.notify_all()
        waiting.join()  # also where nothing is measured any more
    assert isinstance(told[0], Failure) and "before the search ended" in told[0].reason
