"""The tables of `trimtab schedule simulate`: an operator's jobs, and their schedule."""

import pyarrow as pa

_text, _int, _float, _bool = pa.string(), pa.int64(), pa.float64(), pa.bool_()

# One row a job of a batch system, in the order of submission. A job is a gang: all of its equal
# parts start together, each on one node.
BATCH_JOBS = pa.schema(
    [
        ("job", _int),  # 0, 1, ...
        ("name", _text),  # in the file, such as Slurm's number
        ("submit_s", _float),  # since the first submission; never decreases
        ("run_s", _float),  # as recorded
        ("estimate_s", _float),  # limit of the run time that the user asked for; null if unknown
        ("parts", _int),
        ("cpu_milli", _int),  # of one part, as gpu_milli and memory_bytes
        ("gpu_milli", _int),  # below 1,000: a share of one GPU; else whole GPUs
        ("memory_bytes", _int),  # 0 if unknown
        ("distinct", _bool),  # each part has a node of its own
        ("gpu_type", _text),  # asked for, such as `a40`; empty: any
        ("run_gpu_type", _text),  # that run_s was recorded on; empty: unknown
        ("user", _text),
        ("group", _text),
        ("queue", _text),  # partition or queue
        ("priority", _int),  # higher is more important
        ("recorded_start_s", _float),  # since the first submission; null if unknown
        ("deadline_s", _float),  # since the first submission; null if there is none
        ("image", _text),  # what its parts start from; empty if unknown
        ("least_parts", _int),  # of a moldable job, as most_parts; else as parts
        ("most_parts", _int),
        ("serial_share", _float),  # of Amdahl's law
        ("counted", _bool),  # its wait counts in figures; false: it only holds nodes
        ("model", _text),  # that it trains, as a table of throughputs names it; empty: unknown
        # Of a run, 1 s or more; null: none, or at preemption only if the cost is known.
        ("checkpoint_interval_s", _float),
        ("checkpoint_cost_s", _float),  # on top of the run, for each; null as the interval
        ("restart_cost_s", _float),  # on top of a run after an interruption
    ]
)

# One row a job that started, in the order of the jobs.
BATCH_SCHEDULE = pa.schema(
    [
        ("job", _int),
        ("name", _text),
        ("user", _text),
        ("queue", _text),
        ("submit_s", _float),
        ("start_s", _float),  # the first
        ("end_s", _float),
        ("wait_s", _float),  # in the queue, also after interruptions
        ("bounded_slowdown", _float),  # (wait + run) / max(recorded run, 10 s), at least 1
        ("node_type", _text),
        ("nodes", _int),  # different nodes that its parts are on
        ("parts", _int),  # its width
        ("startup_s", _float),  # of its image, part of its wait
        ("energy_j", _float),  # above idle
        ("interruptions", _int),
    ]
)

# One row a run of a job: those that were interrupted, then the last one of each job.
BATCH_RUNS = pa.schema(
    [
        ("job", _int),
        ("start_s", _float),  # of its program
        ("end_s", _float),
        ("node_type", _text),
        ("nodes", _int),
        ("parts", _int),
        ("interrupted", _bool),
        ("startup_s", _float),  # of its image, before start_s
        ("restart_s", _float),  # of the run: before its work
        ("checkpoint_s", _float),  # in checkpoints
        ("lost_s", _float),  # in work that is done again
        ("energy_j", _float),  # above idle
    ]
)
