"""Training by several processes, here on the CPU with Gloo."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from trimtab.workloads import ddp_train
from trimtab.workloads.data import cifar10

SOURCE = Path(ddp_train.__file__).parents[2]
# The program's training of a model without batch normalisation: its gradient is then a plain mean.
LINEAR = """
import argparse, json, sys
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from trimtab.workloads import ddp_train
from trimtab.workloads.data import cifar10

ddp_train.join("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 10)))
arguments = argparse.Namespace(epochs=3, batch_size=int(sys.argv[1]), seed=5)
losses = ddp_train.train(model, cifar10.load(None, 64).train, arguments, torch.device("cpu"))
with open(f"{sys.argv[2]}/{distributed.get_rank()}.json", "w") as file:
    json.dump(losses, file)
distributed.destroy_process_group()
"""


def torchrun(*words: object) -> str:
    """Run a program as two processes and return what they wrote."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2]
    ended = subprocess.run(
        [str(word) for word in [*command, *words]],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(SOURCE)},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture
def alone():
    ddp_train.join("gloo")
    yield
    distributed.destroy_process_group()


@pytest.mark.nightly
def test_two_processes_train_as_one_does_with_both_their_batches(tmp_path, alone):
    script = tmp_path / "linear.py"
    script.write_text(LINEAR)
    torchrun(script, 8, tmp_path)
    # A file each: what two processes print may stand in one line.
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    assert ranks[0] == ranks[1]

    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 10)))
    arguments = argparse.Namespace(epochs=3, batch_size=16, seed=5)
    images = cifar10.load(None, 64).train
    losses = ddp_train.train(model, images, arguments, torch.device("cpu"))
    assert ranks[0] == pytest.approx(losses, rel=1e-4)
    assert losses[0] > losses[1] > losses[2]


def test_program_writes_once_and_says_where_it_is_once(tmp_path):
    output = tmp_path / "metrics.json"
    small = ["--train-samples", 16, "--test-samples", 4, "--batch-size", 4, "--output", output]
    lines = torchrun(ddp_train.__file__, *small).splitlines()
    assert [line.split(" loss")[0] for line in lines] == ["first iteration", "epoch 1"]
    metrics = json.loads(output.read_text())
    assert (metrics["processes"], metrics["backend"]) == (2, "gloo")
    assert metrics["train_samples"] == 16 and len(metrics["train_loss"]) == 1
    assert list(tmp_path.iterdir()) == [output]
