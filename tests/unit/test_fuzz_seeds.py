"""What is fuzzed passes on its seeds, and on inputs that failed once, without the fuzzer."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"
TARGETS = sorted(path.stem for path in (FUZZ / "targets").glob("[a-z]*.py"))


@pytest.mark.parametrize("target", TARGETS)
def test_seeds(target: str) -> None:
    seeds = sorted((FUZZ / "seeds" / target).iterdir())
    assert seeds
    command = [sys.executable, FUZZ / "harness.py", target, "--replay", *seeds]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.stdout.splitlines() == [f"{path}: passes" for path in seeds], done.stderr


def test_every_target_is_fuzzed() -> None:
    show = "import json, run; print(json.dumps([sorted(run.SHARES), sorted(run.INPUTS)]))"
    command = [sys.executable, "-c", show]
    done = subprocess.run(command, capture_output=True, cwd=FUZZ, check=True)
    assert json.loads(done.stdout) == [TARGETS, TARGETS]


ACCEPTED = """
import json, sys
from harness import Target
from pathlib import Path
for name, paths in json.load(sys.stdin).items():
    target = Target(name)
    for path in paths:
        print(path, file=sys.stderr)
        target.module.run(Path(path).read_bytes(), target.folder)
"""


def test_seeds_get_past_the_first_check() -> None:
    """A seed of an earlier version is refused for that alone, and nothing behind it is fuzzed."""
    seeds = {
        target: [
            str(path)
            for path in sorted((FUZZ / "seeds" / target).iterdir())
            if not path.name.startswith("found-") and path.stat().st_size > 1
        ]
        for target in TARGETS
        if target != "configuration"
    }
    command = [sys.executable, "-c", ACCEPTED]
    given = json.dumps(seeds)
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, cwd=FUZZ, timeout=200
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_what_the_harness_finds(tmp_path: Path) -> None:
    """Files outside the folder, and errors that nobody is meant to read."""
    for name, code in (
        ("writes", "open('/tmp/trimtab-fuzz-outside', 'w')"),
        ("reads", "open('/root/x')"),
        ("raises", "raise KeyError(data)"),
        ("allowed", "raise ValueError"),
    ):
        module = f"ERRORS = ValueError\ndef run(data, folder):\n    {code}\n"
        (tmp_path / "targets").mkdir(exist_ok=True)
        (tmp_path / f"targets/{name}.py").write_text(module)
    (tmp_path / "input").write_bytes(b"x")
    (tmp_path / "harness.py").write_text((FUZZ / "harness.py").read_text())
    said = []
    for name in ("writes", "reads", "raises", "allowed"):
        command = [sys.executable, tmp_path / "harness.py", name, "--replay", tmp_path / "input"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        said.append(done.stdout.partition(": ")[2].partition(":")[0].strip())
    assert said == ["FindingError", "FindingError", "KeyError", "passes"]
