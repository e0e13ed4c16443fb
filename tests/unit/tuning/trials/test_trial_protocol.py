"""Programs that break the protocol, in every way that came to mind: each is a trial that failed."""

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trial_programs import LIMIT_S, NOTHING, end_of, epoch_of, is_gone, start, workload

import trimtab_trial
from trimtab.tuning.trials.events import EndReason, TrialEnded
from trimtab.tuning.trials.protocol import (
    LONGEST_LINE_BYTES,
    MOST_METRICS,
    BrokenProtocolError,
    Channel,
    EpochReport,
    Hello,
    go,
    parsed,
)

HELLO = {"trimtab_trial": 1, "training_s": None}
EPOCH: dict[str, Any] = {"epoch": 0, "wall_s": 0.5, "metrics": {"loss": 1.5}, "not_set": {}}

# What speaks to the tuner by itself, and lives on.
RAW = """
import os, time
folder = os.environ["TRIMTAB_TRIAL"] + "/channel/"
reports = os.open(folder + "reports", os.O_WRONLY)
answers = os.open(folder + "answers", os.O_RDONLY)
def say(line):
    os.write(reports, line)
def ask(line):
    say(line + b"\\n")
    return os.read(answers, 4096)
hello = b'{"trimtab_trial": 1, "training_s": null}'
def epoch(number):
    return b'{"epoch": %d, "wall_s": 0, "metrics": {}, "not_set": {}}' % number
"""


def line(**differences: Any) -> bytes:
    return json.dumps({**EPOCH, **differences}).encode()


@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("say(b'x' * 70000)", "a line of more than 65536 bytes"),
        ("while True: say(b'x' * 65536)", "a line of more than 65536 bytes"),
        ("while True: say(hello + b'\\n')", "wrote on before it was answered|second process"),
        (
            "ask(hello)\nwhile True: say(epoch(0) + b'\\n')",
            "wrote on before it was answered|end of epoch 0, expected 1",
        ),
        ("say(hello + b'\\n' + epoch(0) + b'\\n')", "wrote on before it was answered"),
        ("ask(hello)\nask(hello)", "a second process of it spoke"),
        ("ask(epoch(0))", "reported an epoch before it said hello"),
        ("ask(hello)\nask(epoch(1))", "end of epoch 1, expected 0"),
        ("ask(hello)\nask(epoch(0))\nask(epoch(0))", "end of epoch 0, expected 1"),
        ("ask(hello)\nask(epoch(0))\nask(epoch(10**30))", "end of epoch 1000000*, expected 1"),
        ("ask(b'not json')", "'not json' is no JSON"),
        ("ask(bytes(100))", "is no JSON"),
        ("ask(bytes(range(128, 228)))", "is no JSON"),
        ("ask(b'[' * 60000)", "nested too deeply"),
        ("ask(b'1' * 60000)", "is no JSON|expected an object"),
        ("ask(b'')", "is no JSON"),
    ],
)
def test_a_program_that_breaks_it_is_ended_with_the_reason(
    tmp_path: Path, does: str, message: str
) -> None:
    with start(workload(f"{RAW}\n{does}\ntime.sleep(1000)"), tmp_path / "trial") as trial:
        end = end_of(trial)
        assert end.reason == EndReason.BROKEN_PROTOCOL, end
        assert re.search(message, end.message), end.message
        assert len(end.message) < 1000 and end.message.isprintable()
        assert is_gone(trial.pid)


@pytest.mark.parametrize("child", ["", "if not os.fork(): time.sleep(1000)\n"])
def test_one_that_closes_its_channel_and_runs_on(
    tmp_path: Path, child: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a child holds it open, the time limit is what ends it."""
    monkeypatch.setattr("trimtab.tuning.trials.process._PATIENCE_S", 0.2)
    code = f"{RAW}\nask(hello)\n{child}os.close(reports); os.close(answers)\ntime.sleep(1000)"
    with start(workload(code), tmp_path / "trial", timeout_s=2 if child else LIMIT_S) as trial:
        end = end_of(trial)
        assert end.reason == (EndReason.TIMED_OUT if child else EndReason.BROKEN_PROTOCOL)


def test_one_that_closes_its_channel_and_ends(tmp_path: Path) -> None:
    code = f"{RAW}\nask(hello)\nask(epoch(0))\nos.close(reports)"
    with start(workload(code), tmp_path / "trial") as trial:
        assert (end_of(trial).reason, trial.next_event(0)) == (EndReason.FINISHED, None)


def test_what_it_said_last_is_heard_although_it_has_ended(tmp_path: Path) -> None:
    code = f"{RAW}\nask(hello)\nos.mkfifo('gate')\nopen('gate').read()\nsay(epoch(0) + b'\\n')"
    with start(workload(code, workdir=str(tmp_path)), tmp_path / "trial") as trial:
        while not (tmp_path / "gate").exists():
            assert trial.next_event(0.01) is None
        (tmp_path / "gate").write_text("")
        assert os.waitid(os.P_PID, trial.pid, os.WEXITED | os.WNOWAIT)
        assert epoch_of(trial).epoch == 0
        end = trial.next_event(LIMIT_S)
        assert isinstance(end, TrialEnded) and (end.reason, end.epochs) == (EndReason.FINISHED, 1)


def test_one_that_reads_no_answer(tmp_path: Path) -> None:
    channel = Channel(tmp_path / "channel")
    with pytest.raises(BrokenProtocolError, match="does not read its answers"):
        for _ in range(100_000):
            channel.write(go({"threads": 1}))
    channel.close()
    assert list((tmp_path / "channel").iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[]", "expected an object"),
        (b'{"epoch": 0, "epoch": 0}', "stands twice"),
        (line(epoch=True), "epoch: True: expected a whole number"),
        (line(epoch=0.0), "epoch: 0.0: expected a whole number"),
        (line(epoch="0"), "epoch: '0': expected a whole number"),
        (line(wall_s=-1), "wall_s: -1.0: expected seconds"),
        (line(wall_s=math.nan), "wall_s: nan: expected seconds"),
        (line(wall_s=math.inf), "wall_s: inf: expected seconds"),
        (line(wall_s=10**400), "wall_s: inf: expected seconds"),
        (line(wall_s=None), "wall_s: 'None': expected a number"),
        (line(metrics=[1]), "metrics: expected an object"),
        (line(metrics={"a": "1"}), "metrics.a: '1': expected a number"),
        (line(metrics={"a": True}), "metrics.a: 'True': expected a number"),
        (line(metrics={"a": None}), "metrics.a"),
        (line(metrics={"": 1}), "expected a name"),
        (line(metrics={"a" * 101: 1}), "expected a name"),
        (line(metrics={"\x1b[2J": 1}), "expected a name"),
        (line(metrics={"\ud800": 1}), "expected a name"),
        (line(metrics={str(n): 1 for n in range(MOST_METRICS + 1)}), "at most 1000"),
        (line(not_set=None), "not_set: expected an object"),
        (b'{"trimtab_trial": 2}', "speaks version 2 of the protocol, expected 1"),
        (b'{"trimtab_trial": 1, "training_s": -1}', "training_s"),
    ],
)
def test_a_wrong_message_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(BrokenProtocolError, match=message):
        parsed(text)


@settings(max_examples=50)
@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_a_message_or_refused(text: bytes) -> None:
    try:
        assert isinstance(parsed(text), Hello | EpochReport)
    except BrokenProtocolError as error:
        assert str(error)


names = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=100)


@settings(max_examples=50)
@given(
    st.dictionaries(names, st.floats()), st.dictionaries(names, st.text(max_size=300)),
    st.integers(), st.floats(min_value=0, allow_infinity=False),
)  # fmt: skip
def test_what_the_module_writes_is_what_is_read(
    metrics: dict[str, float], not_set: dict[str, str], epoch: int, wall_s: float
) -> None:
    """It has an encoder of its own, as json may be missing where a program runs."""
    text = (
        f'{{"epoch": {epoch}, "wall_s": {wall_s!r}, "metrics": {trimtab_trial._object(metrics)}, '
        f'"not_set": {trimtab_trial._object(not_set)}}}'
    ).encode("utf-8", "replace")
    found = parsed(text)
    assert isinstance(found, EpochReport)
    assert (found.epoch, found.wall_s) == (epoch, wall_s)
    assert list(map(repr, found.metrics.items())) == list(map(repr, metrics.items()))
    assert found.not_set.keys() == not_set.keys()


def test_a_message_that_arrives_in_pieces(tmp_path: Path) -> None:
    channel = Channel(tmp_path / "channel")
    writer = os.open(channel.paths[0], os.O_WRONLY)
    text = line(metrics={"a": 0.1}) + b"\n"
    for place in range(len(text) - 1):
        os.write(writer, text[place : place + 1])
        assert channel.read() is None
    os.write(writer, text[-1:])
    assert channel.read() == EpochReport(0, 0.5, {"a": 0.1}, {})
    assert channel.read() is None and not channel.closed
    os.close(writer)
    assert channel.read() is None and channel.closed
    channel.close()


def test_the_longest_line_is_read(tmp_path: Path) -> None:
    """It is more than a pipe holds, so it is written and read in turns."""
    reason = "x" * (LONGEST_LINE_BYTES - len(line(not_set={"a": ""})))
    code = f"{RAW}\nask(hello)\nask({line(not_set={'a': ''})!r}.replace(b'\"\"', b'\"%s\"' % "
    code += f"(b'x' * {len(reason)})))"
    with start(workload(code), tmp_path / "trial") as trial:
        assert epoch_of(trial).not_set == {"a": "x" * 400}
        trial.answer(NOTHING)
        assert end_of(trial).reason == EndReason.FINISHED
