"""Every mistake is one line with the file or override, the full key, and what was expected."""

from pathlib import Path
from typing import Any

import pytest
from config_files import workload, write

from trimtab.config import ConfigError, Configurations
from trimtab.config.groups.workload import Workload
from trimtab.config.validate import checked

FILE = "workload/lenet5_train.yaml"


def said(conf: Path, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        Configurations(conf, overrides)
    assert caught.value.exit_code == 2
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (workload(outptu=3), ["workload.outptu", "unknown", "did you mean output?"]),
        (workload(output={"comapre": "x"}), ["workload.output.comapre", "did you mean compare?"]),
        (workload(output={"compare": "x"}), ["workload.output.compare", "'x'", "digest_file"]),
        (workload(output="text"), ["workload.output:", "'text'", "keys compare, path"]),
        (workload(output={"compare": "numeric_file"}), ["workload.output.path", "a file"]),
        (workload(output={"path": "x"}), ["workload.output.path", "no path"]),
        (workload(output={"relative_tolerance": 0.1}), ["output.relative_tolerance", "0.1"]),
        (workload(timeout_s="soon"), ["workload.timeout_s", "'soon'", "a number"]),
        (workload(timeout_s=0), ["workload.timeout_s", "above 0"]),
        (workload(timeout_s=float("inf")), ["workload.timeout_s", "finite"]),
        (workload(env=["A"]), ["workload.env", "['A']", "a mapping"]),
        (workload(env={"A": [1]}), ["workload.env.A", "[1]", "a text"]),
        (workload(env={"A=B": "1"}), ["workload.env", "'A=B'"]),
        (workload(own_profiler="perhaps"), ["true or false", "'perhaps'"]),
        (workload(ends_with=256), ["workload.ends_with", "'256'", "0 to 255", "SIGTERM"]),
        (workload(ends_with="SIGNOPE"), ["workload.ends_with", "'SIGNOPE'"]),
        (workload(output={"changing": ["x"]}), ["workload.output.changing", "digest_stdout"]),
        (workload(output={"compare": "command"}), ["workload.output.command", "a command"]),
        (workload(output={"command": ["cmp"]}), ["workload.output.command", "none"]),
        (workload(output={"compare": "exit_code", "path": "x"}), ["output.path", "no path"]),
        (workload(server={"drive": ["curl"]}), ["workload.server.ready", "`address`"]),
        (workload(server={"ready": "up"}), ["workload.server.drive", "the command"]),
        (workload(server={"stop": "TERM"}), ["workload.server.stop", "'TERM'", "SIGTERM"]),
        *(
            (workload(server={"address": address}), ["workload.server.address", "HOST:PORT"])
            for address in ("8000", "a..b:80", f"{'a' * 64}:80", "a\0b:80", f"a:{'9' * 5000}")
        ),
        (workload(command=[]), ["workload.command", "at least one word"]),
        (workload(command=["", "x"]), ["workload.command", "the first not empty"]),
        (workload(command=["python", ["x"]]), ["workload.command[1]", "['x']", "a text"]),
        (workload(command="python x"), ["workload.command", "'python x'", "a list"]),
        (workload(marks={"epoch": "("}), ["workload.marks.epoch", "'('", "regular expression"]),
        (workload(phase="training"), ["workload.phase", "train, inference"]),
        (workload("Name"), ["workload.name", "'Name'"]),
        (workload("other"), ["workload.name", "'other'", "stem", "'lenet5_train'"]),
        (workload(env={"A": "${nope.x}"}), ["workload.env.A", "nope.x", r"\${"]),
        ({"name": "lenet5_train", "python": "p"}, ["workload.command", "missing", "a list"]),
        ("", ["workload.name", "missing", "a text"]),
        (["a"], ["expected keys with values, not a list"]),
        ("name: [x\nenv: 3", ["line 2", "not YAML"]),
        ("name: a\nname: b\n", ["line 2", "duplicate key"]),
    ],
)
def test_workload_file(conf: Path, document: Any, expected: list[str]) -> None:
    write(conf, FILE, document)
    message = said(conf)
    assert str(conf / FILE) in message
    for part in expected:
        assert part in message


def test_an_argument_may_be_empty() -> None:
    given = {"name": "one", "command": ["python", "x.py", "--prefix", ""], "python": "p"}
    assert checked(given, Workload).command[-1] == ""


def test_file_that_is_not_text(conf: Path) -> None:
    (conf / FILE).write_bytes(b"name: \xff\xfe")
    assert f"{conf / FILE}: not UTF-8" in said(conf)


def test_broken_interpolation_names_the_key(conf: Path) -> None:
    write(conf, FILE, workload(env={"A": "${nope"}))
    message = said(conf)
    assert "env.A" in message and r"\${" in message


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("workload=lenet5_trian", ["lenet5_trian.yaml does not exist", "mean lenet5_train?"]),
        ("debloat=fast", ["debloat", "there are: compact, punch, zero"]),
        ("workload.nmae=3", ["override 'workload.nmae=3'", "did you mean name?"]),
        ("workload.command=3", ["override 'workload.command=3'", "expected a list"]),
        ("profiling.repeats=0", ["override 'profiling.repeats=0'", "profiling.repeats", "1"]),
        ("profiling.repeats=1.5", ["profiling.repeats", "a whole number"]),
        ("profiling.repeats=[1", ["override 'profiling.repeats=[1'", "not understood"]),
        ("workloda=x", ["workloda", "did you mean workload?"]),
        ("+speed=2", ["speed", "one of the keys", "profiling"]),
        ("+workload.speed=2", ["workload.speed", "one of the keys"]),
        ("experiment.targets.a=[x]", ["experiment.targets.a", "+experiment.targets.a="]),
        ("experiment.targets.lenet5_trian=[x]", ["did you mean lenet5_train?"]),
        ("policy.parameters.x=1", ["policy.parameters.x", "not there"]),
        ("+experiment.targets.a=[nope]", ["workload/nope.yaml does not exist"]),
        ("+experiment.targets.A=[other]", ["experiment.targets.A", "lower-case"]),
        ("+experiment.targets.a=[]", ["experiment.targets.a", "at least one name"]),
        ("+experiment.targets.a=[other,other]", ["experiment.targets.a", "every name once"]),
        ("experiment.hardware=[nope]", ["hardware/nope.yaml does not exist", "this_machine"]),
        ("hardware.busy_w=0.1", ["hardware.busy_w", "0.1", "idle_w"]),
        ("hardware.power_relative_error=1", ["hardware.power_relative_error", "less than 1"]),
        ("hardware.gpus=['9']", ["hardware.gpus[0]", "'9'", "compute capability", '"9.0"']),
        ("hardware.gpus=['7.5',sm_90]", ["hardware.gpus[1]", "'sm_90'"]),
        ("hardware.gpus=9.0", ["hardware.gpus", "9.0", "a list"]),
        ("debloat.minimum_hole_bytes=1", ["debloat.minimum_hole_bytes", "4096"]),
        ("debloat.kernels=prune", ["debloat.kernels", "'prune'", "fallback: none"]),
    ],
)
def test_override(conf: Path, override: str, expected: list[str]) -> None:
    message = said(conf, override)
    for part in expected:
        assert part in message


def test_mistake_in_the_experiments_file_is_found_there(conf: Path) -> None:
    text = (conf / "experiment/quickstart.yaml").read_text()
    write(conf, "experiment/quickstart.yaml", f"{text}profiling: {{repeats: 0}}\n")
    assert f"{conf / 'experiment/quickstart.yaml'}: profiling.repeats: 0" in said(conf)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("defaults: []\n", "- workload: NAME"),
        ("x: 3\n", "- workload: NAME"),
        ("defaults: [{workload: x}]\n", "workload/x.yaml does not exist"),
        ("defaults: [nothing]\n", "nothing.yaml does not exist"),
    ],
)
def test_config_file(conf: Path, text: str, expected: str) -> None:
    write(conf, "config.yaml", text)
    assert expected in said(conf)


def test_folder_without_configuration(tmp_path: Path) -> None:
    assert "config.yaml does not exist" in said(tmp_path)
    assert "config.yaml does not exist" in said(tmp_path / "nowhere")
