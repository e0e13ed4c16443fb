"""Programs that fail, in every way that is known here: no verb says a word of success of them."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import markupsafe
import pytest
from many_commands import trimtab

from trimtab.config.groups.workload import ServerConfig, Workload
from trimtab.config.root import Profiling
from trimtab.errors import UserError
from trimtab.files import read_json, write_json
from trimtab.profiling.profile import profile_workload

SUCCESS = re.compile(r"equal output|output (was |is )?equal|settled|passed|success|%\s+less", re.I)
TWICE = "import os, sys\nagain = os.path.exists('ran')\nopen('ran', 'w').close()\n"
SOCKET = "import signal, sys\nprint('ready', flush=True)\nsignal.pause()"

# A program, and what is said of it: how it ended, its last line, and what to type.
PYTHON = {
    "missing module": ("import nothing_of_that_name", "code 1", "ModuleNotFoundError", 1),
    "missing module below": ("import json, xml.nothing", "code 1", "ModuleNotFoundError", 1),
    "exception": ("raise ValueError('no number')", "code 1", "ValueError: no number", 1),
    "sys.exit": ("import sys; sys.exit(1)", "exit code 1", "", 1),
    "sys.exit in words": ("import sys; sys.exit('went wrong')", "exit code 1", "went wrong", 1),
    "os._exit": ("import os; os._exit(3)", "exit code 3", "", 3),
    "abort": ("import os; os.abort()", "signal 6 (SIGABRT)", "", "SIGABRT"),
    "segmentation fault": (
        "import ctypes; ctypes.string_at(0)", "signal 11 (SIGSEGV)", "", "SIGSEGV",
    ),
    "SIGKILL": ("import os; os.kill(os.getpid(), 9)", "signal 9 (SIGKILL)", "", "SIGKILL"),
    "SIGTERM": ("import os; os.kill(os.getpid(), 15)", "signal 15 (SIGTERM)", "", "SIGTERM"),
    "syntax error": ("def f(:", "exit code 1", "SyntaxError", 1),
    "missing file": ("open('no-such-file')", "exit code 1", "FileNotFoundError", 1),
    "usage error": (
        "import argparse; p = argparse.ArgumentParser(); p.add_argument('x'); p.parse_args()",
        "exit code 2", "the following arguments are required", 2,
    ),
    "exit 70": ("print('done'); raise SystemExit(70)", "exit code 70", "done", 70),
    "a child's failure": (
        "import os, signal, subprocess, sys\n"
        "done = subprocess.run(['sh', '-c', 'kill -9 $$'])\n"
        "sys.exit(f'worker ended with {done.returncode}')",
        "exit code 1", "worker ended with -9", 1,
    ),
}  # fmt: skip
PYTEST = {
    1: ("def test_it(): assert 0", "tests failed", []),
    2: ("import nothing_of_that_name", "it was interrupted", []),
    3: ("def test_it(): pass", "an internal error", []),
    4: ("def test_it(): pass", "a usage error", ["--no-such-option"]),
    5: ("", "no tests ran", []),
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with one package of compiled code, and a pytest that is elsewhere."""
    folder = tmp_path_factory.mktemp("failing") / "env"
    venv.create(folder, symlinks=True)
    [own] = (folder / "lib").glob("python*/site-packages")
    shutil.copytree(Path(markupsafe.__file__).parent, own / "markupsafe")
    script = folder / "bin/pytest"
    packages = sysconfig.get_path("purelib")
    script.write_text(
        f"#!{folder}/bin/python\nimport sys; sys.path.append({packages!r})\n"
        "import pytest; raise SystemExit(pytest.main())\n"
    )
    script.chmod(0o755)
    return folder


def fails(done: subprocess.CompletedProcess[str], *words: str) -> str:
    """Check that a verb failed, said so with `words`, and nothing of success; returns that."""
    said = done.stdout + done.stderr
    assert done.returncode not in (0, 99), said
    assert 'Traceback (most recent call last):\n  File "/' not in said.partition("error: ")[0]
    assert not SUCCESS.search(said), said
    for word in words:
        assert word in said
    return said


def debloat(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return trimtab(folder, "debloat", "--runs", "1", "--settle", "1", *words)


@pytest.mark.parametrize("kind", PYTHON)
def test_a_program(environment: Path, tmp_path: Path, kind: str) -> None:
    """It is run once, and neither debloated nor taken for one that works."""
    code, how, last, end = PYTHON[kind]
    (tmp_path / "program.py").write_text(code)
    command = ("--", environment / "bin/python", "program.py")
    typed = f"`--ends-with {end}` if that is right"
    progress, first, *_ = fails(debloat(tmp_path, *command), how, last, typed).splitlines()
    assert progress == "tracing: 3 runs"
    assert how in first and last in first and typed in first
    logs = sorted(path.name for path in (tmp_path / "trimtab_workspace/runs").glob("*.stderr"))
    assert logs == ["original-0.stderr"]
    assert not (tmp_path / "trimtab_workspace/env").exists()
    fails(trimtab(tmp_path, "verify"), "trimtab debloat")
    fails(trimtab(tmp_path, "check"), "no results")
    fails(trimtab(tmp_path, "advanced", "learn"), "trimtab debloat")


@pytest.mark.parametrize("code", PYTEST)
def test_pytest(environment: Path, tmp_path: Path, code: int) -> None:
    text, meaning, words = PYTEST[code]
    (tmp_path / "test_mine.py").write_text(text)
    if code == 3:
        (tmp_path / "conftest.py").write_text("def pytest_runtest_protocol(): raise OSError\n")
    done = debloat(tmp_path, "--", environment / "bin/pytest", *words)
    fails(done, f"exit code {code} (pytest: {meaning}", f"`--ends-with {code}`")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; raise SystemExit('LD_AUDIT' in os.environ)", "exit code 1, expected"),
        (TWICE + "sys.exit(again and 4)", "exit code 4, expected exit code 0"),
    ],
)
def test_a_program_that_fails_later(
    environment: Path, tmp_path: Path, code: str, said: str
) -> None:
    """Only when it is traced, or when it runs again."""
    (tmp_path / "program.py").write_text(code)
    for verb in (["advanced", "trace"], ["debloat"]):
        (tmp_path / "ran").unlink(missing_ok=True)
        done = trimtab(tmp_path, *verb, "--", environment / "bin/python", "program.py")
        fails(done, said, "a run that was not traced ended well")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--timeout-s", "1"], "import signal; signal.pause()", ["took too long", "--timeout-s"]),
        (["--drive", "true", "--ready", "ready"], "raise SystemExit(7)",
         ["ended before it was ready", "`--ready` or `--address`"]),
        (["--drive", "false", "--ready", "ready"], SOCKET,
         ["driven by a command that ended with exit code 1", "`--drive` has to exit with 0"]),
        (["--drive", "true", "--ready", "ready"],
         "import signal, sys\nsignal.signal(15, lambda *_: sys.exit(9))\n" + SOCKET,
         ["ended with exit code 9, expected signal 15 (SIGTERM) or exit code 0",
          "`--ends-with 9`"]),
    ],
)  # fmt: skip
def test_a_server_or_what_takes_too_long(
    environment: Path, tmp_path: Path,
    options: list[str], code: str, words: list[str],
) -> None:  # fmt: skip
    (tmp_path / "program.py").write_text(code)
    command = ("--", environment / "bin/python", "program.py")
    fails(debloat(tmp_path, *options, *command), *words)


def test_a_shell_script(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(f"{environment}/bin/python -c pass\nls no-such-file\n")
    command = ("--python", environment / "bin/python", "--", "sh", "run.sh")
    fails(debloat(tmp_path, *command), "exit code 2", "no-such-file", "`--ends-with 2`")


@pytest.fixture(scope="module")
def asked(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workspace of a program that ends with 3 as asked, while its data is there."""
    folder = tmp_path_factory.mktemp("asked")
    (folder / "program.py").write_text(
        "import markupsafe; open('data'); print('said'); raise SystemExit(3)"
    )
    (folder / "data").touch()
    command = ("--", environment / "bin/python", "program.py")
    done = debloat(folder, "--ends-with", "3", *command)
    assert done.returncode == 0, done.stderr
    return folder


def test_an_end_that_was_asked_for_is_told(asked: Path) -> None:
    done = trimtab(asked, "verify", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    assert "equal output in every run, which ended with exit code 3, as asked" in done.stderr
    assert "ended with exit code 3, as asked" in trimtab(asked, "check").stdout


def test_a_held_out_input_that_cannot_be_judged(asked: Path) -> None:
    """The others are reported all the same, and the exit code says that one was bad."""
    inputs = ("--held-out", "./no-such-program", "--held-out", "python program.py other")
    done = trimtab(asked, "verify", "--repeats", "1", *inputs, "--json")
    bad, good = json.loads(done.stdout)["held_out"]
    assert done.returncode == 2 and "no-such-program" in bad["problem"] and not bad["runs"]
    assert good["problem"] == "" and all(run["equal"] for run in good["runs"]) and good["runs"]
    assert read_json(asked / "trimtab_workspace/verify.json")["held_out"] == [bad, good]
    assert "held_out.input_1" in done.stderr
    assert not re.search("equal output in every run", done.stderr)


@pytest.mark.parametrize("verb", [["verify"], ["advanced", "learn", "--repeats", "1"]])
def test_a_program_that_fails_by_now(asked: Path, verb: list[str]) -> None:
    (asked / "data").rename(asked / "data.away")
    try:
        fails(trimtab(asked, *verb), "exit code 1, expected exit code 3")
    finally:
        (asked / "data.away").rename(asked / "data")
    assert trimtab(asked, *verb).returncode == 0


def test_results_of_old_that_nobody_asked_for(asked: Path) -> None:
    """Trimtab once took over how the first run ended, and said so in a note alone."""
    assert trimtab(asked, "verify", "--repeats", "1").returncode == 0
    path = asked / "trimtab_workspace/usage.json"
    before = path.read_bytes()
    usage = read_json(path)
    usage["notes"] = [
        "the program as it is ended with exit code 3 after 'x': every run has to end so;"
        " --ends-with 0 refuses it"
    ]
    write_json(path, usage)
    how = "the program as it is ended with exit code 3"
    try:
        fails(trimtab(asked, "verify"), how, "`--ends-with 3`")
        fails(trimtab(asked, "advanced", "learn"), how, "`--ends-with 3`")
        fails(trimtab(asked, "check"), how, "`--ends-with`")
        told = json.loads(trimtab(asked, "check", "--json").stdout)
        assert told["passed"] is False
        assert told["results"][0]["environments"][0]["verified"] is False
        compared = trimtab(asked, "advanced", "compare", "trimtab_workspace", "trimtab_workspace")
        assert not SUCCESS.search(compared.stdout + compared.stderr)
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("kind", ["missing module", "os._exit", "SIGKILL", "syntax error"])
def test_trials(tmp_path: Path, kind: str) -> None:
    code, how, last, _ = PYTHON[kind]
    (tmp_path / "train.py").write_text(code)
    words = ["--parameter", "training.width=1:9", "--epochs", "1:1", "--tuner", "tune_v1"]
    done = trimtab(tmp_path, "tune", *words, "--", sys.executable, "train.py")
    fails(done, "[1/1] trial 0, 1 epoch: failed: ", "no trial has a score", how, last)
    assert not (tmp_path / "trimtab_workspace/tune/best.yaml").exists()


def test_a_project(environment: Path, tmp_path: Path) -> None:
    """`trimtab run` makes no report of a program that fails, and `trimtab check` finds nothing."""
    (tmp_path / "program.py").write_text(PYTHON["missing module"][0])
    command = ("--", environment / "bin/python", "program.py")
    assert trimtab(tmp_path, "new", "mine", *command).returncode == 0
    done = trimtab(tmp_path / "mine", "run", "--cores", "2")
    of_snakemake = "input: .*|did not complete successfully"  # it names our sources
    done.stdout = re.sub(of_snakemake, "", done.stdout)
    done.stderr = re.sub(of_snakemake, "", done.stderr)
    fails(done, "Error in rule profile_workload", "ModuleNotFoundError", "`ends_with: 1`")
    assert not [*(tmp_path / "mine/results").glob("evaluate/*/report.html")]
    fails(trimtab(tmp_path / "mine", "check", "results"), "no results")


@pytest.mark.parametrize(
    ("code", "server", "words"),
    [
        ("import nothing_of_that_name", {}, r"ModuleNotFoundError.*`ends_with: 1` if that is"),
        ("raise SystemExit(3)", {}, r"exit code 3, expected exit code 0; `ends_with: 3`"),
        ("import signal; signal.pause()", {}, r"took too long.*`timeout_s` gives it more time"),
        (SOCKET, {"drive": ["false"], "ready": "ready"}, r"exit code 1.*`server\.drive` has to"),
    ],
)
def test_a_workload_of_yaml(
    tmp_path: Path, code: str, server: dict[str, object], words: str
) -> None:
    """As the rule profile_workload has it: what to write is named in the words of YAML."""
    from trimtab.config.groups.hardware import Hardware

    here = Hardware(
        name="here", cores=2, idle_w=1, busy_w=2, memory_w_per_gib=1, memory_gib=8,
        power_source="modelled",
    )  # fmt: skip
    mine = Workload(
        "mine", ["python", "-c", code], python=sys.executable, workdir=str(tmp_path),
        server=ServerConfig(**server), timeout_s=2.0,  # type: ignore[arg-type]
    )  # fmt: skip
    with pytest.raises(UserError, match=words):
        profile_workload(mine, here, Profiling(repeats=3), tmp_path / "results")
    assert not (tmp_path / "results/usage.json").exists()
    assert len([*(tmp_path / "results/runs").glob("original-*.stdout")]) in (1, 2)  # a driver's
