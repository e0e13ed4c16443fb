"""`trimtab tune` as a person types it, on a script of three added lines and on a workload."""

import json
import shlex
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import yaml
from many_commands import Command, many_commands

from trimtab.records.parquet.files import read_table
from trimtab.records.tables import TRIALS
from trimtab.tuning.deployment.outputs import result_in

TRIMTAB = Path(sys.executable).parent / "trimtab"
PROJECT = Path(__file__).parents[2]
# From its third epoch on it waits to be killed, while there is a file `wait`.
TRAINING = """
import os, signal, sys
import trimtab_trial
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
width, epochs = int(given["--width"]), int(given["--epochs"])
for epoch in range(trimtab_trial.first_epoch(), epochs):
    with open("epochs.txt", "a") as file:
        file.write(f"{width} {epoch}\\n")
    if os.path.exists("wait") and len(open("epochs.txt").readlines()) > 2:
        signal.pause()
    if trimtab_trial.tuned():
        open(f"{trimtab_trial.folder()}/{epoch + 1}.json", "w").close()
    trimtab_trial.epoch_end(epoch, accuracy=1 - (width - 40) ** 2 / 10000)
"""
WORDS = [
    "tune", "--parameter", "training.width=1:99", "--epochs", "1:3", "--tuner", "tune_v1",
    "--", sys.executable, "train.py",
]  # fmt: skip


def trimtab(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TRIMTAB, *words], cwd=folder, capture_output=True, text=True, timeout=120
    )


def test_plan_trials_and_best_and_what_was_stopped_goes_on(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    (tmp_path / "wait").touch()
    stopped = subprocess.Popen(
        [TRIMTAB, *WORDS], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert stopped.stderr is not None
    lines = []
    for line in stopped.stderr:
        lines.append(line.strip())
        if line.startswith("[2/6]"):
            stopped.send_signal(signal.SIGINT)
            break
    rest = stopped.communicate(timeout=60)[1]
    assert stopped.returncode == 130 and "run it again" in rest, rest
    assert lines[:4] == [
        "Tune V1, for accuracy",
        "bracket 1: 3 to 1 epochs, 1 to 3 epochs",
        "bracket 2: 2 to 3 epochs",
        "in all as much as 11 epochs over all data",
    ]
    assert not (tmp_path / "trimtab_workspace/tune/best.yaml").exists()
    (tmp_path / "wait").unlink()

    done = trimtab(tmp_path, *WORDS)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "trimtab_workspace/tune/best.yaml\n"
    assert "2 of 6 are there from before" in done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert [line.split("]")[0] for line in told] == [f"[{n}/6" for n in (3, 4, 5, 6)]
    table = read_table(tmp_path / "trimtab_workspace/tune/trials.parquet", TRIALS)
    assert len(table) == 6
    longest = table[table["epochs"] == 3].sort_values("score").iloc[-1]
    said = f"best so far {longest['score']:.4g} (trial {longest['trial']}, 3 epochs)"
    assert told[-1].endswith(said)
    best = yaml.safe_load((tmp_path / "trimtab_workspace/tune/best.yaml").read_text())
    width = json.loads(longest["configuration"])["training.width"]
    assert best["parameters"] == {"width": width, "epochs": 3} and "defaults" not in best
    text = (tmp_path / "trimtab_workspace/tune/best.yaml").read_text()
    to_run = f" --width {width} --epochs 3\n"
    assert text.splitlines(keepends=True)[1].endswith(to_run)
    assert f"{width}" in done.stderr.split("best.yaml")[0]
    # Of what ended before nothing was trained again: at most the epoch that was stopped.
    trained = Counter((tmp_path / "epochs.txt").read_text().splitlines())
    assert sum(count - 1 for count in trained.values()) <= 1


def test_mistakes(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    with many_commands() as run:
        mistakes(run, tmp_path)


def mistakes(run: Command, tmp_path: Path) -> None:
    given, command = WORDS[1:5], WORDS[-3:]
    for words, said in (
        (["--tuner", "tpee", *given, *command], "tpee"),
        (["--objective", "accurracy", *given, *command], "accurracy"),
        (["lenet5_tran"], "lenet5_tran"),
        (["llama_inference"], "no key `tuning`"),
        (["--parameter", "width=1", "--epochs", "1:2", *command], "KIND.NAME"),
        (["lenet5_train", "--epochs", "1:2"], "set tuning.epochs in conf/workload/lenet5_train"),
        (["lenet5_train", "--metric", "f1"], "--metric is for a command"),
        (["--tuner", "edgetune", *given, *command], "tuning.inference_workload: expected"),
        (["--objective", "time_by_accuracy", *given, *command], "inference_s is what inference"),
        (["--tuner", "pipetune", *given, *command], "no parameter to tune inside trials"),
        (["--time", "30", *given, *command], "--time: '30' given, expected a number above 0"),
        (["--energy", "0J", *given, *command], "--energy: '0J' given"),
        (["--python", "none", *given, *command], "--python none: no such file"),
        (["--start-with", "train.py", *given, *command], "--start-with train.py: "),
    ):
        done = run(tmp_path, "tune", *words)
        assert done.returncode == 2 and "Traceback" not in done.stderr, (words, done.stderr)
        assert said in " ".join(done.stderr.split()), done.stderr
        assert done.stdout == ""
    assert not (tmp_path / "trimtab_workspace").exists()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/mine.txt").touch()
    done = run(tmp_path, "tune", "--workspace", "notes", *WORDS[1:])
    assert done.returncode == 2 and "no workspace of trimtab" in done.stderr


def test_a_number_of_trials_and_given_first_ones(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    (tmp_path / "first.yaml").write_text("- {width: 41}\n- {training.width: 42}\n")
    done = trimtab(tmp_path, "tune", "--trials", "4", "--start-with", "first.yaml", *WORDS[1:])
    assert done.returncode == 0, done.stderr
    # Tune V1's brackets begin with three and two.
    assert "bracket 2: 1 to 3 epochs" in done.stderr
    table = read_table(tmp_path / "trimtab_workspace/tune/trials.parquet", TRIALS)
    widths = dict(zip(table["trial"], table["configuration"].map(json.loads), strict=True))
    assert sorted(widths) == [0, 1, 2, 3]
    assert [widths[trial]["training.width"] for trial in (0, 1)] == [41, 42]
    assert done.stderr.count("│ 3 ") >= 2  # epochs, in the table of the best trials


PRINTING = """
import sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
for epoch in range(int(given["--epochs"])):
    print(f"epoch {epoch}: loss {abs(int(given['--width']) - 40) / 4 + 2.5 - epoch / 2:.3f}")
"""


def test_a_program_that_only_prints_a_loss(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PRINTING)
    done = trimtab(
        tmp_path, "tune", "--parameter", "training.width=20,40,60", "--epochs", "2:2",
        "--epoch-mark", r"loss (?P<loss>\S+)", "--metric", "loss", "--objective", "loss",
        "--tuner", "grid_search", "--", sys.executable, "train.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("[3/3]")]
    assert "; best so far 2 (trial " in told[0]
    path = tmp_path / "trimtab_workspace/tune/best.yaml"
    assert yaml.safe_load(path.read_text())["parameters"] == {"width": 40, "epochs": 2}
    found = result_in(path)  # the score as the objective defines it, the metric by its own name
    assert found["score"] == found["loss"] == 2.0 and "accuracy" not in found
    table = read_table(path.with_name("trials.parquet"), TRIALS)
    assert sorted(table["score"]) == [-7.0, -7.0, -2.0]  # higher is better there


SIGNED = """
import sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
off = abs(int(given["--width"]) - 40)
print(f"epoch 0: reward {-1 - off} accuracy {-0.5 - off} loss {off - 100.5}")
"""


def test_metrics_below_0(tmp_path: Path) -> None:
    """A reward, an R2 below 0, a log-likelihood: the best one is found, shown and deployed."""
    (tmp_path / "train.py").write_text(SIGNED)
    for metric, more, best, scores in (
        ("reward", [], -1.0, [-21.0, -1.0]),
        ("accuracy", [], -0.5, [-20.5, -0.5]),
        ("loss", ["--objective", "loss", "--deploy", "loss-deployed"], -100.5, [80.5, 100.5]),
    ):
        done = trimtab(
            tmp_path, "tune", "--parameter", "training.width=20,40", "--epochs", "1:1",
            "--epoch-mark", rf"{metric} (?P<{metric}>\S+)", "--metric", metric, *more,
            "--tuner", "grid_search", "--workspace", metric, "--", sys.executable, "train.py",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = result_in(tmp_path / metric / "tune/best.yaml")
        assert found[metric] == best and found["parameters"] == {"width": 40, "epochs": 1}
        assert sorted(read_table(tmp_path / metric / "tune/trials.parquet", TRIALS)["score"]) == (
            scores
        )
    assert "| `loss` | -100.5 |" in (tmp_path / "loss-deployed/README.md").read_text()


SERVING = """
import sys, trimtab_trial
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with open("served.txt", "a") as file:
    file.write(f"{given['--width']} {given['--batch-size']}\\n")
for batch in trimtab_trial.batches([range(1000 * int(given["--width"]))]):
    sum(batch)
"""


def test_what_comes_out_of_a_search_of_programs_is_run(tmp_path: Path) -> None:
    """In a folder with a space and an apostrophe: training and serving by the words it says."""
    folder = tmp_path / "a stranger's"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    (folder / "serve.py").write_text(SERVING)
    done = trimtab(
        folder, "tune", "--parameter", "model.width=30,40", "--parameter", "system.threads=1,2",
        "--parameter", "inference.batch_size=1,4", "--inference-command",
        shlex.join([sys.executable, "serve.py"]), "--epochs", "1:1", "--tuner", "edgetune",
        "--objective", "time_by_accuracy", "--", sys.executable, "train.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tuning inference took " in done.stderr
    written = done.stdout.split()
    assert [Path(path).name for path in written] == ["best.yaml", "inference.yaml"]
    for path, left in zip(written, ("epochs.txt", "served.txt"), strict=True):
        (folder / left).unlink()
        text = (folder / path).read_text()
        line = next(one for one in text.splitlines() if one.startswith("# To run it: "))
        subprocess.run(line.removeprefix("# To run it: "), shell=True, cwd=folder, check=True)
        document = yaml.safe_load(text)
        assert "defaults" not in document and document["command"][0] == sys.executable
        parameters = document["parameters"]
        beside = parameters.get("batch_size", 0)
        assert (folder / left).read_text().splitlines() == [f"{parameters['width']} {beside}"]
    assert "OMP_NUM_THREADS=" in (folder / written[0]).read_text().splitlines()[1]


def test_a_workload_by_name(tmp_path: Path) -> None:
    """As a program of one's own is described for experiments: the folder `conf` is here."""
    (tmp_path / "train.py").write_text(TRAINING)
    conf = tmp_path / "conf"
    subprocess.run(["cp", "-r", PROJECT / "conf", conf], check=True)
    described = {
        "name": "mine", "command": ["python", "train.py"], "python": sys.executable,
        "tuning": {"epochs": {"least": 1, "most": 1},
                   "training": {"width": {"choices": [7, 40], "default": 7}}},
    }  # fmt: skip
    (conf / "workload/mine.yaml").write_text(yaml.safe_dump(described))
    done = trimtab(tmp_path, "tune", "mine", "--tuner", "tpe", "--workspace", "kept")
    assert done.returncode == 0, done.stderr
    best = yaml.safe_load((tmp_path / "kept/tune/best.yaml").read_text())
    assert best["parameters"]["width"] in (7, 40)
