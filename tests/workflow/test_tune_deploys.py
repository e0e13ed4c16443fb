"""What a search hands over runs where it is put, in an environment without trimtab."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.config import Configurations
from trimtab.profiling.runs.from_workload import command_line

TRIMTAB = Path(sys.executable).parent / "trimtab"
PROJECT = Path(__file__).parents[2]
TRAINING = """
import json, os, sys
import trimtab_trial
from model import score
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
top = json.load(open(sys.argv[1]))["top"]
for epoch in range(trimtab_trial.first_epoch(), int(given["--epochs"])):
    trimtab_trial.epoch_end(epoch, accuracy=score(int(given["--width"]), top))
if not trimtab_trial.tuned():
    with open("trained.json", "w") as file:
        json.dump([sys.prefix, sys.argv[2:], os.environ.get("OMP_NUM_THREADS")], file)
"""
MODEL = "def score(width, top):\n    return 1 - (width - top) ** 2 / 10000\n"


def run(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run outside trimtab: no module of its own is in sight."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        words, cwd=folder, env=own, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of two modules and a file, tuned and deployed from its own environment."""
    folder = tmp_path_factory.mktemp("a stranger's")
    (folder / "train.py").write_text(TRAINING)
    (folder / "model.py").write_text(MODEL)
    (folder / "top.json").write_text('{"top": 40}')
    made = run(folder, sys.executable, "-m", "venv", "--without-pip", "own")
    assert made.returncode == 0, made.stderr
    assert run(folder, "own/bin/python", "-c", "import trimtab_trial").returncode == 1
    done = subprocess.run(
        [TRIMTAB, "tune", "--parameter", "training.width=20,40", "--parameter", "system.threads=2",
         "--tuner", "grid_search", "--epochs", "1:1", "--deploy", "deployed", "--slim", "--",
         "own/bin/python", "train.py", "top.json"],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["trimtab_workspace/tune/best.yaml", "deployed/run.sh"]
    return folder


def trained(folder: Path) -> tuple[str, list[str], str]:
    prefix, words, threads = json.loads((folder / "trained.json").read_text())
    (folder / "trained.json").unlink()
    return prefix, words, threads


BEST = ["--width", "40", "--epochs", "1"]


def test_the_command_of_best_yaml(tuned: Path) -> None:
    text = (tuned / "trimtab_workspace/tune/best.yaml").read_text()
    line = next(one for one in text.splitlines() if one.startswith("# To run it: "))
    done = run(tuned, "sh", "-c", line.removeprefix("# To run it: "))
    assert done.returncode == 0, done.stderr
    assert trained(tuned) == (str(tuned / "own"), BEST, "2")


def test_the_deployment_in_its_slim_environment_and_in_another(tuned: Path, tmp_path: Path) -> None:
    """The program itself is gone; where there is no slim environment, `env` is taken."""
    deployed = tuned / "deployed"
    for name in ("train.py", "model.py", "top.json"):
        (tuned / name).rename(tuned / f"{name}.away")
    try:
        done = run(tmp_path, "sh", deployed / "run.sh")
        assert done.returncode == 0, done.stderr
        assert trained(tmp_path) == (str(deployed / "slim/env"), BEST, "2")
        shutil.copytree(deployed, tmp_path / "moved", ignore=lambda *_: ["slim"])
        run(tmp_path, sys.executable, "-m", "venv", "--without-pip", "moved/env")
        done = run(tmp_path, "sh", tmp_path / "moved/run.sh", "--seed", "3")
        assert done.returncode == 0, done.stderr
        assert trained(tmp_path) == (str(tmp_path / "moved/env"), [*BEST, "--seed", "3"], "2")
    finally:
        for name in ("train.py", "model.py", "top.json"):
            (tuned / f"{name}.away").rename(tuned / name)


def test_what_the_deployment_says(tuned: Path) -> None:
    deployed = tuned / "deployed"
    assert json.loads((deployed / "parameters.json").read_text()) == {"width": 40, "epochs": 1}
    card = (deployed / "README.md").read_text()
    assert "| `accuracy` | 1 |" in card and "| `threads` | 2 |" in card and "train.py" in card
    assert "J (modelled)" in card or "J (measured)" in card
    assert (deployed / "requirements.txt").read_text() == ""
    files = {str(path.relative_to(deployed)) for path in (deployed / "program").rglob("*.*")}
    assert files >= {"program/train.py", "program/model.py", "program/top.json"}


def test_best_yaml_is_a_workload(tuned: Path, tmp_path: Path) -> None:
    (tmp_path / "conf/workload").mkdir(parents=True)
    shutil.copy(tuned / "trimtab_workspace/tune/best.yaml", tmp_path / "conf/workload/best.yaml")
    workload = Configurations(tmp_path / "conf", [], PROJECT / "conf").option("workload", "best")
    assert command_line(workload)[1:] == ["train.py", "top.json", *BEST]
    assert workload.env["OMP_NUM_THREADS"] == "2"
    assert Path(workload.env["PYTHONPATH"].split(":")[0], "trimtab_trial.py").is_file()


def test_a_folder_with_other_files_is_refused_before_the_search(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    (tmp_path / "notes.txt").touch()
    words = ["--parameter", "training.width=20,40", "--epochs", "1:1"]
    command = ["--", sys.executable, "train.py"]
    for given, said in (
        (["--deploy", "."], "--deploy .: has other files"),
        (["--slim"], "--slim: expected --deploy FOLDER"),
    ):
        done = subprocess.run(
            [TRIMTAB, "tune", *words, *given, *command],
            cwd=tmp_path, capture_output=True, text=True, timeout=100,
        )  # fmt: skip
        assert done.returncode == 2 and said in " ".join(done.stderr.split()), done.stderr
        assert not (tmp_path / "trimtab_workspace").exists()
