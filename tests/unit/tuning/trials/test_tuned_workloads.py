"""The shipped programs as trials: paused and resumed, they train to the same bits as ever."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from shipped_configurations import SHIPPED
from trial_programs import LIMIT_S, NOTHING, end_of, epoch_of, start

import trimtab_trial
from trimtab.tuning.trials.events import EndReason
from trimtab.tuning.trials.settings import SystemSettings
from trimtab.workloads.common.trial import Trial
from trimtab.workloads.data import InputError

ROOT = Path(__file__).parents[4]
SMALL = {"epochs": 2, "train_samples": 120, "test_samples": 40, "data_fraction": 0.5}


@pytest.mark.nightly
def test_lenet5_is_paused_after_an_epoch_and_goes_on(tmp_path: Path) -> None:
    lenet5 = SHIPPED.option("workload", "lenet5_train")
    lenet5 = replace(
        lenet5, python=sys.executable, workdir=str(ROOT),
        env={**lenet5.env, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    program = [sys.executable, str(ROOT / "src/trimtab/workloads/lenet5.py")]
    options = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
    with subprocess.Popen(
        [*program, *options, "--output", str(tmp_path / "untuned.json")],
        env={**os.environ, **lenet5.env}, stdout=subprocess.PIPE,
    ) as untuned:  # fmt: skip
        cpus = tuple(sorted(os.sched_getaffinity(0)))
        settings = SystemSettings(cpus=cpus, threads=1, loader_workers=0)
        said = b""
        for run in range(2):
            folder = tmp_path / "trial"
            with start(
                lenet5, folder, parameters=SMALL, settings=settings, resume=run > 0
            ) as trial:
                epoch = epoch_of(trial)
                assert epoch.epoch == run and epoch.not_set == {}
                assert epoch.metrics.keys() == {
                    "loss", "accuracy", "validation_loss", "test_accuracy", "test_loss"
                }  # fmt: skip
                assert epoch.cpu_s > 0 and epoch.wall_s > 0
                if run:
                    trial.answer(NOTHING)
                else:
                    trial.stop()
                assert end_of(trial).reason == (EndReason.FINISHED if run else EndReason.STOPPED)
            said += (folder / f"from_epoch_{run}.stdout").read_bytes()
            assert [path.name for path in (folder / "checkpoint").glob("*.pt")] == (
                ["2.pt"] if run else ["1.pt"]
            )
        out, _ = untuned.communicate(timeout=LIMIT_S)
    # Both runs mark their first iteration.
    lines = said.splitlines()
    assert [lines[0], lines[1], lines[3]] == out.splitlines() and lines[2] == lines[0]
    metrics = (tmp_path / "trial/output/metrics.json").read_bytes()
    assert metrics == (tmp_path / "untuned.json").read_bytes()
    found = json.loads(metrics)
    assert (found["train_samples"], found["validation_samples"]) == (50, 20)
    assert found["train_loss"][1] == epoch.metrics["loss"]
    assert found["validation_accuracy"] == epoch.metrics["accuracy"]
    assert found["test_accuracy"] == epoch.metrics["test_accuracy"]


def test_a_checkpoint_of_another_training_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trimtab_trial, "folder", lambda: str(tmp_path))
    monkeypatch.setattr(trimtab_trial, "first_epoch", lambda: 2)
    order, device = torch.Generator(), torch.device("cpu")
    other = {"model": torch.nn.Linear(2, 2).state_dict()}
    for state in (None, b"", b"no checkpoint", other, {**other, "losses": [0.5], "order": 1}):
        if isinstance(state, bytes):
            (tmp_path / "2.pt").write_bytes(state)
        elif state is not None:
            torch.save(state, tmp_path / "2.pt")
        with pytest.raises(InputError, match=r"2\.pt: no checkpoint of this training: .*"):
            Trial(device, order, model=torch.nn.Linear(2, 3 - isinstance(state, dict)))


def test_what_is_drawn_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As dropout draws; what evaluation draws does not count."""
    next_epoch = 0
    told = []
    monkeypatch.setattr(trimtab_trial, "folder", lambda: str(tmp_path))
    monkeypatch.setattr(trimtab_trial, "tuned", lambda: True)
    monkeypatch.setattr(trimtab_trial, "first_epoch", lambda: next_epoch)
    monkeypatch.setattr(trimtab_trial, "epoch_end", lambda epoch, **told_: told.append(told_))

    def evaluate() -> dict[str, float]:
        model.eval()
        return {"validation_accuracy": 0.5, "test_loss": float(torch.rand(1))}

    model, order, device = torch.nn.Dropout(), torch.Generator(), torch.device("cpu")
    with torch.random.fork_rng():
        before = torch.get_rng_state()
        trial = Trial(device, order, model=model)
        trial.losses.append(0.25)
        trial.epoch_end(1, evaluate)
        assert model.training and torch.equal(torch.get_rng_state(), before)
        drawn = torch.rand(3), torch.rand(3, generator=order)
        next_epoch = 1
        order.manual_seed(99)
        again = Trial(device, order, model=torch.nn.Dropout())
        assert (again.first, again.losses) == (2, [0.25])
        assert torch.equal(torch.rand(3), drawn[0])
        assert torch.equal(torch.rand(3, generator=order), drawn[1])
    assert told[0]["loss"] == 0.25 and told[0]["accuracy"] == 0.5
