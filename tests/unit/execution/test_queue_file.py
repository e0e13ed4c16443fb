"""Queues of commands in YAML."""

from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.execution.queue_file import read_queue

GOOD = """
classes: {high: {priority: 1}, low: {priority: 0}}
jobs:
  - {class: low, at_s: 0, command: [sh, -c, "exit 0"]}
  - {class: high, at_s: 2.5, command: ["true"]}
"""


def test_jobs_are_numbered_and_have_the_priority_of_their_class(tmp_path: Path) -> None:
    path = tmp_path / "queue.yaml"
    path.write_text(GOOD)
    queue = read_queue(path)
    assert [(job.job, job.job_class, job.priority, job.arrival_s) for job in queue.jobs] == [
        (0, "low", 0, 0.0),
        (1, "high", 1, 2.5),
    ]
    assert queue.jobs[0].command == ("sh", "-c", "exit 0")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &a [1]\nb: [" + "*a, " * 99_999 + "*a]", "line 2: more than 100,000 values"),
        ("a: &a [*a]", "line 1: *a stands for itself"),
        ("a: " + "[" * 100, "line 1: more than 32 levels"),
        ("!!python/name:os.system ''", "line 1: the tag"),
        ("\0", "a control character"),
        (GOOD.replace("{high: {priority: 1}, low: {priority: 0}}", "[high]"), "classes: expected"),
        (GOOD.replace("priority: 1", f"priority: {1 << 70}"), "classes.high: expected a priority"),
        (GOOD.replace("exit 0", "\\0"), "jobs[0].command: "),
        (GOOD.replace("at_s: 0", "at_s: .nan"), "jobs[0].at_s: nan given"),
    ],
)
def test_a_queue_of_anybody(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "queue.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_queue(path)
    assert str(caught.value).startswith(str(path)) and expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("jobs:", "tasks:", "expected the keys classes and jobs"),
        ("{priority: 1}", "{priority: high}", r"classes\.high: expected a priority"),
        ("class: low", "class: lov", r"jobs\[0\]\.class: 'lov' given, expected one of high, low"),
        ("at_s: 2.5", "at_s: soon", r"jobs\[1\]\.at_s: 'soon' given"),
        ("[sh, -c, \"exit 0\"]", "sh", r"jobs\[0\]\.command: 'sh' given, expected a list"),
        ("at_s: 2.5", "at_s: -1", r"jobs\[1\]\.at_s: -1 given, expected a number of seconds, 0 or"),
        ("at_s: 0,", "", r"jobs\[0\]: expected the keys at_s, class, command"),
        ("priority: 1", "priority: 1, program: a.py:f", "low: no program, which the"),
        ("priority: 1", "priority: 1, program: a.f", r"high\.program: 'a\.f' given, expected FILE"),
        ("classes:", "classes: [", "not YAML"),
    ],
)  # fmt: skip
def test_mistakes_name_the_job_and_the_key(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    path = tmp_path / "queue.yaml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(UserError, match=expected):
        read_queue(path)


def test_programs_for_spark(tmp_path: Path) -> None:
    path = tmp_path / "queue.yaml"
    path.write_text(
        "classes: {mine: {priority: 3, program: sub/jobs.py:go}}\njobs: [{class: mine, at_s: 1}]"
    )
    queue = read_queue(path)
    assert queue.programs == {"mine": "sub/jobs.py:go"} and queue.folder == tmp_path
    assert [(job.priority, job.arrival_s, job.command) for job in queue.jobs] == [(3, 1.0, ())]
    path.write_text(path.read_text().replace("at_s: 1", "at_s: 1, command: [a]"))
    with pytest.raises(UserError, match=r"jobs\[0\]: expected the keys at_s, class$"):
        read_queue(path)
