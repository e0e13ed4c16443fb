"""Which column of a table says what, by the common spellings of its name and unit.

`Submit Time`, `submit_time`, `submitTime` and `SUBMITTED_AT (ms)` are one name. A unit may end it,
then `_per_node`, `_per_task` and the like say what a demand is of: `memory_gib_per_node`.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

# Of two columns with the same meaning, the one whose spelling comes first counts.
_SPELLINGS = {
    "submit": "submit submission submitted submittime submissiontime submittedat submitat"
    " submitdate submittedtime submittimestamp submissiontimestamp arrival arrivaltime arrived"
    " arrivedat created createdat creationtime creationtimestamp enqueued queuedat qtime timestamp"
    " date time",
    "run": "run runtime runningtime duration elapsed elapsedtime elapsedraw wallclock wallclocktime"
    " walltime usedwalltime executiontime exectime servicetime service work length",
    "estimate": "estimate estimated limit timelimit walltimelimit walllimit runtimelimit maxruntime"
    " timelimitraw requestedtime requestedruntime requestedwalltime reqtime reqwalltime"
    " estimatedruntime runtimeestimate timeout",
    "start": "start starttime started startedat startat startdate begin begintime scheduledat"
    " scheduledtime",
    "end": "end endtime ended endedat enddate finish finished finishedat finishtime completed"
    " completedat completiontime deletiontime",
    "wait": "wait waittime waiting waitingtime queuetime queuingtime queueingtime pendingtime",
    "processors": "processors procs nprocs numprocs numprocessors reqprocs size width slots nslots",
    "cores": "cores core ncores numcores corecount cpucores cpus cpu ncpus numcpus cpucount"
    " alloccpus reqcpus vcpus vcpu threads",
    "gpus": "gpus gpu ngpus numgpus numgpu gpucount allocgpus reqgpus accelerators numaccelerators",
    "nodes": "nodes node nnodes numnodes nodecount allocnodes reqnodes hosts nhosts machines"
    " servers",
    "tasks": "parts tasks ntasks numtasks replicas instances workers numworkers pods gangsize",
    "memory": "memory mem reqmem reqmemory requestedmemory memoryrequested ram rss",
    "run_gpu_type": "rungputype usedgputype allocgputype allocatedgputype",
    "gpu_type": "gputype gpumodel gpuname gpuspec acceleratortype accelerator",
    "model": "model modelname",
    "checkpoint_interval_s": "checkpointinterval checkpointevery",
    "checkpoint_cost_s": "checkpointcost checkpointtime",
    "restart_cost_s": "restartcost restarttime",
    "user": "user username userid uid owner submitter",
    "group": "group groupname groupid gid account project team vc tenant department org",
    "queue": "queue queuename partition pool",
    "priority": "priority prio",
    "deadline": "deadline deadlinetime deadlineat due duetime dueat duedate",
    "image": "image imagename containerimage",
    "least_parts": "leastparts minparts",
    "most_parts": "mostparts maxparts",
    "serial_share": "serialshare serialfraction",
    "name": "jobid id jobnumber job jobname name taskid",
}
_ROLES = {
    spelling: (role, rank)
    for role, spellings in _SPELLINGS.items()
    for rank, spelling in enumerate(spellings.split())
}
_TIMES = {
    "s sec secs second seconds": 1.0,
    "ms msec millis millisecond milliseconds": 1e-3,
    "us usec micros microsecond microseconds": 1e-6,
    "ns nanosecond nanoseconds": 1e-9,
    "m min mins minute minutes": 60.0,
    "h hr hrs hour hours": 3600.0,
    "d day days": 86400.0,
}
_SIZES = {
    "b byte bytes": 1.0,
    "k kb kib": 2.0**10,
    "m mb mib": 2.0**20,
    "g gb gib": 2.0**30,
    "t tb tib": 2.0**40,
}
_SHARES = {"milli millis millicores": 1e-3}
_UNITS_OF = {
    **dict.fromkeys(["submit", "run", "estimate", "start", "end", "wait", "deadline"], _TIMES),
    **dict.fromkeys(["checkpoint_interval_s", "checkpoint_cost_s", "restart_cost_s"], _TIMES),
    **dict.fromkeys(["cores", "gpus"], _SHARES),
    "memory": _SIZES,
}
_OWN_UNITS = {"timelimitraw": 60.0, "reqmem": 2.0**20}  # Slurm's, of numbers without a unit
_PER = re.compile(r"(.+?)per(node|host|task|part|worker|pod|replica|instance|cpu|core|gpu)s?")
_PARTS_OF = {"node": "nodes", "host": "nodes", "cpu": "cores", "core": "cores", "gpu": "gpus"}


class Column(NamedTuple):
    """A column of a table.

    A number in it counts `unit` (s, bytes, cores or GPUs), and is of one of `per` (`nodes`,
    `tasks`, `cores` or `gpus`), or of the job where that is empty.
    """

    number: int
    name: str
    unit: float = 1.0
    per: str = ""


def columns_of(header: Sequence[str]) -> dict[str, Column]:
    """Return the columns by what they say, a key of `_SPELLINGS`; leave out the others."""
    found: dict[str, tuple[int, Column]] = {}
    for number, name in enumerate(header):
        role, rank, unit, per = _meaning(name)
        if role and (role not in found or rank < found[role][0]):
            found[role] = (rank, Column(number, name.strip(), unit, per))
    return {role: column for role, (_, column) in found.items()}


def spellings_of(*roles: str) -> str:
    """Return the first spellings of some roles, for an error."""
    return "; ".join(", ".join(_SPELLINGS[role].split()[:4]) for role in roles)


def _meaning(name: str) -> tuple[str, int, float, str]:
    """Return role, rank of the spelling, unit and per; an unknown name has no role."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name[:100]).lower())
    words, per = _without_per(words)
    if not per and len(words) > 1:  # a unit may also stand behind, as in mem_per_cpu_mb
        rest, per = _without_per(words[:-1])
        words = [*rest, words[-1]] if per else words
    for word_count in (len(words), len(words) - 1):
        spelling = "".join(words[:word_count])
        role, rank = _ROLES.get(spelling, ("", 0))
        units = {} if word_count == len(words) else _UNITS_OF.get(role, {})
        unit = next((unit for names, unit in units.items() if words[-1] in names.split()), None)
        if role and (word_count == len(words) or unit is not None):
            return role, rank, _OWN_UNITS.get(spelling, 1.0) if unit is None else unit, per
    return "", 0, 1.0, ""


def _without_per(words: list[str]) -> tuple[list[str], str]:
    """Return the words before `per`, and what one is of; nothing for words without it."""
    match = _PER.fullmatch("_".join(words).replace("_per_", "per"))
    return (words, "") if match is None else (match[1].split("_"), _PARTS_OF.get(match[2], "tasks"))
