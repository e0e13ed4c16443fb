"""Conditions: vary the surroundings of a program's runs.

The code that runs depends on more than the input: on the number of CPUs and threads, on caches, on
the length of the environment, on the order of sets. Runs under varied conditions show code that one
run does not.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trimtab.processes.program import Program
from trimtab.profiling.runs.caches import caches_in, make_caches

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_HASH_SEED = "PYTHONHASHSEED"
_PADDING_STEP, _PADDING_LIMIT = 1000, 1 << 16  # bytes; the kernel's limit is 128 KiB for a variable


@dataclass(frozen=True)
class Condition:
    """Variables, a number of CPUs, and caches for a run.

    `cpus` is the number of CPUs that its processes may use, None for those of the process that
    starts it. `caches` is a folder for compiled files that the program would keep in the user's
    caches; None uses the user's.
    """

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    cpus: int | None = None
    caches: Path | None = None

    def apply(self, program: Program) -> Program:
        """Return `program` under this condition, after making its cache folders.

        Variables that the workload sets have priority, as does a hash seed that the user has set.
        If a workload sets one of the numbers of threads, all of them stay.
        """
        variables = dict(self.variables)
        if self.caches is not None:
            variables |= caches_in(self.caches, program.root)
            if self.caches.exists():  # a cache that a run has used belongs to the program
                program = program.binding(self.caches)
            else:
                caches = make_caches(self.caches, program.environment, program.root)
                program = program.with_access_to(self.caches, *caches)
        kept = set(program.own_variables)
        if kept.intersection(_THREADS):
            kept.update(_THREADS)
        if _HASH_SEED in program.environment:
            kept.add(_HASH_SEED)
        changed = {name: value for name, value in variables.items() if name not in kept}
        return replace(
            program,
            environment={**program.environment, **changed},
            cpus=program.cpus if self.cpus is None else self.cpus,
        )


def varied(number: int, caches: Path | None = None) -> Condition:
    """Return condition `number`, any number from 0 on; 0 is the machine unchanged.

    Odd numbers have one CPU and cold caches. Even numbers have all CPUs, at least two, and the
    caches of the number before: in separate folders below `caches`, or the user's if that is None.
    Threads are one, many, many, one in turn. Each number has another length of environment and
    another hash seed; even ones buffer Python's output.
    """
    if number == 0:
        return Condition("as it is")
    cold = number % 2 == 1
    all_cpus = max(2, len(os.sched_getaffinity(0)))
    cpus = 1 if cold else all_cpus
    threads = 1 if number % 4 in (0, 1) else all_cpus
    variables = {
        **dict.fromkeys(_THREADS, str(threads)),
        _HASH_SEED: str(number),
        "PYTHONUNBUFFERED": "1" if cold else "",  # empty counts as unset
        "TRIMTAB_PADDING": "x" * (_PADDING_STEP * number % _PADDING_LIMIT),
    }
    words = [f"CPUs: {cpus}", f"threads: {threads}"]
    if caches is not None:
        caches = caches / str(number if cold else number - 1)
        words.append("cold caches" if cold else "warm caches")
    return Condition(", ".join(words), variables, cpus, caches)
