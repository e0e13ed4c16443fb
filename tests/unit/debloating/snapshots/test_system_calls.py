"""The names of system calls are those of the kernel's header."""

import re
import subprocess

from trimtab.debloating.snapshots.log import Call
from trimtab.debloating.snapshots.system_calls import name_of_call

HEADER = ["gcc", "-dM", "-E", "-include", "asm/unistd_64.h", "-x", "c", "/dev/null"]


def test_every_call_has_the_name_of_the_header() -> None:
    said = subprocess.run(HEADER, capture_output=True, text=True, check=True).stdout
    numbers = {int(n): name for name, n in re.findall(r"^#define __NR_(\w+) (\d+)$", said, re.M)}
    assert len(numbers) > 300
    named = {number: name_of_call(number) for number in numbers}
    newer = {number for number, name in named.items() if name == f"system call {number}"}
    assert all(named[number] == numbers[number] for number in numbers.keys() - newer)
    assert all(number > 450 or number == 335 for number in newer)


def test_calls_that_matter_have_their_own_numbers() -> None:
    assert {call.name.lower() for call in Call} == {name_of_call(call) for call in Call}
    assert name_of_call(9999) == "system call 9999"
