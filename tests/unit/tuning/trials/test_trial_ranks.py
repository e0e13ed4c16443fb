"""Programs of several ranks: rank 0 speaks, all begin and stop at the same epochs."""

from itertools import pairwise
from pathlib import Path

import pytest
from trial_programs import NOTHING, end_of, epoch_of, start, workload

from trimtab.config.groups.workload import Workload
from trimtab.tuning.trials.events import EndReason, TrialEnded
from trimtab.tuning.trials.settings import SystemSettings

# Each rank keeps its own part of the checkpoint; a later rank is slower.
RANKS = """
import os, subprocess, sys, time
import trimtab_trial
NAME, GUARD, LATE_S = {name!r}, {guard!r}, {late_s}
if NAME not in os.environ or "outer" not in os.environ:
    own = {{**os.environ, "outer": "1"}}
    started = [subprocess.Popen([sys.executable, "-c", sys.argv[1], *sys.argv[1:]],
                                env={{**own, NAME: str(rank)}}) for rank in range(3)]
    sys.exit(max(one.wait() for one in started))
rank = int(os.environ[NAME])
log = open(f"rank_{{rank}}.txt", "a")
first = trimtab_trial.first_epoch()
open(f"began_{{rank}}_{{first}}", "w").close()
while not all(os.path.exists(f"began_{{one}}_{{first}}") for one in range(3)):
    time.sleep(0.01)  # as a process group does
for epoch in range(first, 4):
    time.sleep(LATE_S * rank)
    open(f"{{trimtab_trial.folder()}}/{{epoch + 1}}_of_{{rank}}", "w").close()
    if not GUARD or rank == 0:
        settings = trimtab_trial.epoch_end(epoch, accuracy=(1 + epoch) / (1 + rank))
    print(epoch, settings.get("loader_workers") if not GUARD else None, file=log, flush=True)
"""


def of_ranks(
    folder: Path, name: str = "RANK", *, guard: bool = False, late_s: float = 0.0
) -> Workload:
    code = RANKS.format(name=name, guard=guard, late_s=late_s)
    given = workload(code, workdir=str(folder))
    return type(given)(**{**vars(given), "command": [*given.command, code]})


def lines(folder: Path, rank: int) -> list[str]:
    return (folder / f"rank_{rank}.txt").read_text().splitlines()


@pytest.mark.parametrize("name", ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"])
def test_all_ranks_stop_and_resume_together(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tuner itself may be a rank of something else, as under srun."""
    monkeypatch.setenv(name, "5")
    folder = tmp_path / "trial"
    with start(of_ranks(tmp_path, name, late_s=0.05), folder) as trial:
        assert epoch_of(trial).metrics == {"accuracy": 1.0}
        trial.answer(SystemSettings(loader_workers=7))
        assert epoch_of(trial).metrics == {"accuracy": 2.0}
        # Rank 0 reports once every rank has kept its part.
        assert {path.name for path in trial.folder.glob("checkpoint/2_of_*")} == {
            "2_of_0", "2_of_1", "2_of_2",
        }  # fmt: skip
        trial.stop()
        ended = trial.next_event(30)
        assert isinstance(ended, TrialEnded)
        assert (ended.reason, ended.exit_code) == (EndReason.STOPPED, 0)
    for rank in range(3):
        assert lines(tmp_path, rank) == ["0 7"]
    with start(of_ranks(tmp_path, name), folder, resume=True) as trial:
        assert trial.first_epoch == 2
        assert end_of(trial).reason == EndReason.FINISHED
    for rank in range(3):
        assert [line.split()[0] for line in lines(tmp_path, rank)] == ["0", "2", "3"]


def test_ranks_that_report_nothing_know_the_first_epoch(tmp_path: Path) -> None:
    folder = tmp_path / "trial"
    with start(of_ranks(tmp_path, guard=True), folder) as trial:
        epoch_of(trial)
        trial.stop()
    with start(of_ranks(tmp_path, guard=True), folder, resume=True) as trial:
        assert end_of(trial).epochs == 3
    for rank in range(3):
        assert [line.split()[0] for line in lines(tmp_path, rank)][-3:] == ["1", "2", "3"]


DDP = """
import argparse, torch, trimtab_trial
import torch.distributed as dist
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
given = parser.parse_args()
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
first = trimtab_trial.first_epoch()
if first:
    model.load_state_dict(torch.load(f"{trimtab_trial.folder()}/{first}.pt"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(first, given.epochs):
    x = torch.full((4, 1), float(rank))
    loss = ((model(x) - 3 * x - 1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0 and trimtab_trial.tuned():
        torch.save(model.state_dict(), f"{trimtab_trial.folder()}/{epoch + 1}.pt")
    dist.all_reduce(loss.detach())
    with open(f"rank_{rank}.txt", "a") as log:
        log.write(f"{epoch} {model.module.weight.item()} {model.module.bias.item()}\\n")
    trimtab_trial.epoch_end(epoch, accuracy=-loss.item())
dist.destroy_process_group()
"""


@pytest.mark.nightly
def test_torchrun(tmp_path: Path) -> None:
    """Two ranks of PyTorch, paused after the second epoch: each step follows from the one before.

    As calculated by hand, with the mean of the ranks' gradients.
    """
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(DDP)
    given = workload("", workdir=str(tmp_path), timeout_s=300.0)
    command = ["python", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["train.py", "--epochs", "{epochs}"]
    of = type(given)(**{**vars(given), "command": command, "parameters": {"epochs": 4}})
    folder = tmp_path / "trial"
    with start(of, folder) as trial:
        epoch_of(trial)
        trial.answer(NOTHING)
        epoch_of(trial)
        trial.stop()
        ended = trial.next_event(60)
        assert isinstance(ended, TrialEnded) and ended.reason == EndReason.STOPPED
    with start(of, folder, resume=True) as trial:
        assert end_of(trial).reason == EndReason.FINISHED
    found = [lines(tmp_path, rank) for rank in range(2)]
    assert found[0] == found[1]
    steps = [tuple(map(float, line.split())) for line in found[0]]
    assert [epoch for epoch, _, _ in steps] == [0, 1, 2, 3]
    for (_, weight, bias), (_, next_weight, next_bias) in pairwise(steps):
        residuals = [(weight - 3) * x + bias - 1 for x in (0, 1)]
        assert next_weight == pytest.approx(weight - 0.1 * residuals[1], abs=1e-5)
        assert next_bias == pytest.approx(bias - 0.1 * sum(residuals), abs=1e-5)
