"""Programs that are tuned for real: small ones of Python and NumPy alone, started as workloads."""

import os
import select
import sys
from pathlib import Path
from typing import Any

from trimtab.config.groups.workload import Marks, Workload
from trimtab.tuning.trials.events import EpochEnd, TrialEnded
from trimtab.tuning.trials.process import TrialProcess
from trimtab.tuning.trials.settings import SystemSettings

LIMIT_S = 60.0
NOTHING = SystemSettings()

# A model of one weight, stepped at random: whoever draws once more or less ends elsewhere.
TRAINING = """
import json, os, random, sys
import trimtab_trial
epochs, result = int(sys.argv[2]), sys.argv[4]
draw = random.Random(7)
weight, first = 0.0, trimtab_trial.first_epoch()
if first:
    state = json.load(open(f"{trimtab_trial.folder()}/{first}.json"))
    weight = state["weight"]
    draw.setstate((3, tuple(state["draw"]), None))
for epoch in range(first, epochs):
    for step in range(100):
        weight += draw.random() * 0.1 - 0.01 * weight
    if trimtab_trial.tuned():
        with open(f"{trimtab_trial.folder()}/{epoch + 1}.json", "w") as file:
            json.dump({"weight": weight, "draw": draw.getstate()[1]}, file)
    trimtab_trial.epoch_end(epoch, weight=weight, accuracy=1 - 1 / (2 + epoch))
with open(result, "w") as file:
    file.write(repr(weight))
"""


def workload(code: str, *flags: str, **keys: Any) -> Workload:
    """A workload whose command is a Python program with the parameters behind it."""
    keys = {"timeout_s": LIMIT_S, "python": sys.executable, "parameters": {}} | keys
    return Workload(name="tried", command=["python", *flags, "-c", code], **keys)


def training(**keys: Any) -> Workload:
    """The deterministic training above, of three epochs unless told otherwise."""
    keys = {"parameters": {"epochs": 3, "result": "weight.txt"}} | keys
    return workload(TRAINING, **keys)


def start(of: Workload, folder: Path, **keys: Any) -> TrialProcess:
    keys = {"parameters": {}, "settings": NOTHING} | keys
    return TrialProcess.start(of, folder=folder, **keys)


def epoch_of(trial: TrialProcess) -> EpochEnd:
    event = trial.next_event(LIMIT_S)
    assert isinstance(event, EpochEnd), event
    return event


def end_of(trial: TrialProcess) -> TrialEnded:
    """Let the trial run to its end; all its epochs are answered alike."""
    while isinstance(event := trial.next_event(LIMIT_S), EpochEnd):
        if event.waits:
            trial.answer(NOTHING)
    assert isinstance(event, TrialEnded), event
    return event


def ended(code: str, folder: Path, *flags: str, **keys: Any) -> TrialEnded:
    """How a program ends that is a trial."""
    with start(workload(code, *flags, **keys), folder) as trial:
        return end_of(trial)


def marks(pattern: str) -> Marks:
    return Marks(epoch=pattern)


def is_gone(pid: int, patience_s: float = 2.0) -> bool:
    """Whether a process ends, or has ended, within `patience_s`."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], patience_s)[0])
    finally:
        os.close(descriptor)
