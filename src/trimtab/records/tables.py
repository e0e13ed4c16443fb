"""Every table that passes between stages: its columns, types and units.

A column's name ends in its unit (`_s`, `_bytes`, `_j`, `_w`); counts carry none. Readers and
writers of Parquet go through `records.parquet.files`, which refuses a table whose columns
are not those listed here. JSON documents are described where they are made.
"""

import pyarrow as pa

_text, _int, _float, _bool = pa.string(), pa.int64(), pa.float64(), pa.bool_()

_OS_COUNTERS = [
    ("cpu_s", _float),  # user and system time of every process of the run
    ("minor_faults", _int),
    ("major_faults", _int),
    ("voluntary_switches", _int),
    ("involuntary_switches", _int),
    ("read_bytes", _int),  # fetched from storage, not from the page cache
    ("write_bytes", _int),
]

_ENERGY = [
    ("energy_j", _float),
    ("energy_low_j", _float),  # ends of the interval; equal to energy_j for a meter without error
    ("energy_high_j", _float),
    ("energy_source", _text),  # measured | modelled | unknown (then the joules are null)
    ("energy_method", _text),  # e.g. "rapl", "nvml+rapl", "power model"
]

# One row a run of a workload.
RUNS = pa.schema(
    [
        ("workload", _text),
        ("hardware", _text),
        # original | debloated | traced_functions | traced_varied | traced_files
        ("condition", _text),
        ("repeat", _int),  # 0, 1, ...: runs of equal `repeat` were interleaved
        ("exit_code", _int),  # negative: the signal that ended it
        ("ended_well", _bool),  # within the time limit, and as in the original environment
        ("wall_s", _float),
        ("start_up_s", _float),  # process start to the workload's first iteration; may be null
        ("peak_rss_bytes", _int),  # highest sum of resident memory over the processes
        ("peak_gpu_memory_bytes", _int),  # null without a GPU
        ("gpu_busy_share", _float),  # share of the time in which any kernel ran; null without a GPU
        ("gpu_energy_j", _float),  # of all boards that the run may use; null if not metered
        *_OS_COUNTERS,
        *_ENERGY,
        ("output_digest", _text),  # SHA-256 of the output that the workload's YAML compares
    ]
)

# One row an epoch of a run.
EPOCHS = pa.schema(
    [
        ("workload", _text),
        ("hardware", _text),
        ("condition", _text),
        ("repeat", _int),
        ("epoch", _int),
        ("start_s", _float),  # since the run's start
        ("duration_s", _float),
        ("scores", _text),  # JSON: the captured scores, name -> number; null without any
        *_OS_COUNTERS,
        ("cycles", _float),  # hardware counters are null where the machine has none;
        ("instructions", _float),  # scaled by time enabled / time running
        ("cache_references", _float),
        ("cache_misses", _float),
        ("branches", _float),
        ("branch_misses", _float),
        ("counters_running_share", _float),  # time running / time enabled, 0 to 1
        *_ENERGY,
    ]
)

# One row a shared library of a debloated environment.
LIBRARIES = pa.schema(
    [
        ("target", _text),
        ("hardware", _text),
        ("library", _text),  # path relative to the environment
        ("build_id", _text),  # hexadecimal; null if the library has none
        ("debloated", _bool),
        ("reason", _text),  # why not debloated, or empty
        ("size_before_bytes", _int),
        ("size_after_bytes", _int),
        ("disk_before_bytes", _int),  # blocks allocated in the file system
        ("disk_after_bytes", _int),
        ("compressed_before_bytes", _int),  # zstd
        ("compressed_after_bytes", _int),
        ("functions_before", _int),
        ("functions_after", _int),
        ("function_bytes_before", _int),
        ("function_bytes_after", _int),
        ("gpu_bytes_before", _int),  # of the elements and bare frames of GPU code, with headers
        ("gpu_bytes_after", _int),
        ("elements_before", _int),
        ("elements_after", _int),
        ("elements_architecture", _int),  # removed, Reason I: no GPU of the target can load it
        ("elements_unused", _int),  # removed, Reason II: it fits a GPU, but no kernel was used
        ("elements_ptx", _int),  # removed, Reason III: PTX that no GPU of the target needs
        ("kept_bytes", _int),  # kept + removed = size before
        ("removed_bytes", _int),
        ("overhead_bytes", _int),  # kept + overhead = size after
    ]
)

LARGE_FILE_BYTES = 10_000_000  # larger files are listed separately (first seed, 4.2.3.1)
# One row a path, without the top, of an environment without its unused files; otherwise empty.
FILES = pa.schema(
    [
        ("target", _text),
        ("hardware", _text),
        ("path", _text),  # relative to the environment
        ("type", _text),  # file | folder | link | other
        ("package", _text),  # such as `pip:numpy`; empty if no package claims it
        ("kind", _text),  # of a file, such as `byte code`; empty for others
        ("group", _text),  # of a file: the group by which `keep` keeps it; empty if none
        ("size_bytes", _int),  # of a file; 0 if another name of it counts
        ("counts", _bool),  # as a file: false for links, folders and further names of a file
        ("kept", _bool),
        ("reason", _text),  # why it stays, or why a used one is removed, or empty
    ]
)

# One row a job that asks for a place on a cluster, in the order of arrival.
TRACE = pa.schema(
    [
        ("job", _int),  # 0, 1, ...
        ("arrival_s", _float),  # since the trace's start; never decreases
        ("job_class", _text),
        ("priority", _int),  # higher is more important
        ("cpu_milli", _int),  # thousandths of a core; whole numbers, so that sums are exact
        ("gpu_milli", _int),
        ("memory_bytes", _int),
        ("work_s", _float),  # service time on the reference node at its highest frequency;
        # null for a job of rounds, whose tasks draw their own times
        ("map_tasks", _int),  # 0: not a job of rounds
        ("reduce_tasks", _int),
        ("size", _float),  # factor for the times of a job's tasks; usually 1
    ]
)

# One row a finished job, in the order of finishing.
SCHEDULED = pa.schema(
    [
        ("job", _int),
        ("job_class", _text),
        ("priority", _int),
        ("arrival_s", _float),
        ("start_s", _float),  # the first placement
        ("finish_s", _float),
        ("response_s", _float),  # finish - arrival
        ("execution_s", _float),  # its last, successful execution, with its set-up
        ("wasted_s", _float),  # of discarded executions
        ("set_up_s", _float),  # image pull and cold start, in all executions
        ("sprint_s", _float),
        ("dropped_tasks", _int),
        ("evictions", _int),
        ("migrations", _int),
        ("node", _int),  # of the last execution
        ("level", _int),  # frequency level at its end, 0 the lowest
        ("energy_j", _float),  # active energy, without the nodes' idle power
    ]
)

# One row an allocation of a job on a node at one frequency: the bars of a Gantt chart.
ALLOCATIONS = pa.schema(
    [
        ("job", _int),
        ("node", _int),
        ("level", _int),
        ("cpu_milli", _int),
        ("start_s", _float),
        ("ready_s", _float),  # the end of image pull and cold start; null if they never ended
        ("end_s", _float),
        ("end", _text),  # finished | evicted | migrated | failed | level (a frequency change)
    ]
)

# One row a node of a cluster.
NODES = pa.schema(
    [
        ("node", _int),
        ("hardware", _text),
        ("cpu_milli", _int),
        ("memory_bytes", _int),
        ("busy_core_s", _float),
        ("down_s", _float),
        ("idle_energy_j", _float),
        ("active_energy_j", _float),
        ("busy_gpu_s", _float),
        ("free_gpu_s", _float),
        ("fragmented_gpu_s", _float),  # the part of free_gpu_s on partly used GPUs
    ]
)

# One row a sample of a cluster: percentiles over its nodes of the share in use, 0 to 1.
LOAD = pa.schema(
    [
        ("time_s", _float),
        ("pending", _int),
        ("running", _int),
        *(
            (f"{part}_p{rank}", _float)
            for part in ("cpu", "memory")
            for rank in (0, 25, 50, 75, 100)
        ),
        ("power_w", _float),
    ]
)


# One row a trial on a rung: a search with a seed, a bracket, and the reached budget.
TRIALS = pa.schema(
    [
        ("seed", _int),
        ("fold", _int),  # 1; in a search of two folds 2, which the objective judges
        ("trial", _int),
        ("bracket", _int),
        ("rung", _int),
        ("epochs", _int),
        ("data_fraction", _float),
        ("configuration", _text),  # JSON, by full names; other parameters had their defaults
        ("settings", _text),  # JSON: the `system` parameters in effect at its end
        ("not_set", _text),  # JSON: parameters that could not be set, and why
        ("score", _float),  # higher is better; null for a failure
        ("failure", _text),  # why there is no score; otherwise empty
        ("values", _text),  # JSON: what the objective's expressions come to; empty for a failure
        ("on_front", _bool),  # no trial of its search is better by all; of one score, its best
        ("chosen", _bool),  # the best of its search, of several scores by their bounds
        ("accuracy", _float),  # the metric that tuning.metric names: also a reward or a loss
        ("epochs_trained", _int),  # fewer than `epochs` if the program stopped by itself
        ("training_s", _float),  # of the model: all its epochs since the first
        ("training_j", _float),
        ("energy_source", _text),  # of training_j: measured | modelled | unknown
        ("inference_s", _float),  # of a sample, if inference is tuned as well
        ("inference_j", _float),
        ("inference_s_low", _float),  # the interval if it was emulated; null: measured
        ("inference_s_high", _float),
        ("inference_tuning_s", _float),  # of measuring inference, since the search's last row
        ("inference_tuning_j", _float),
        ("wall_s", _float),  # of this rung's processes
        ("cpu_s", _float),  # of these processes and all their descendants
        ("energy_j", _float),  # of these, with lost work; as training_j says, null if unknown
        ("work_epochs", _float),  # that these trained, over all data, repeated epochs included
        ("start_up_s", _float),  # of the last process, before the first epoch
        ("began_s", _float),  # start of this rung's process, since the search began
        ("ended_s", _float),
        ("epochs_probed", _int),  # since the trial's first process in its search
        ("known", _int),  # whether its job was known before the search began
        # JSON: for each epoch of this rung's process `epoch` from 0, `wall_s`, `energy_j`,
        # `accuracy`, the `settings` in effect, and `rates`, processor counters per second.
        ("by_epoch", _text),
    ]
)

# One row a configuration of a model's inference that was measured during its tuning.
INFERENCE = pa.schema(
    [
        ("architecture", _text),  # JSON: its `model` parameters
        ("configuration", _text),  # JSON: batch_size, cores and the like
        ("inference_s", _float),  # of a sample; null for a failure
        ("inference_j", _float),
        ("energy_source", _text),  # of inference_j: measured | modelled | unknown
        ("failure", _text),  # why it could not be measured; otherwise empty
    ]
)


# One row a year at each sample of a code base: its lines from that year.
LINES_BY_YEAR = pa.schema(
    [
        ("code_base", _text),
        ("commit", _text),
        ("at_s", _int),  # of the sample, since 1970
        ("year", _int),  # the origin of the lines
        ("lines", _int),
    ]
)

# One row a run of a learning workload on Spark: trained, used and measured at its own settings.
# Failed runs are rows too, with null for values that were not measured.
CHARACTERIZATION_RUNS = pa.schema(
    [
        ("workload", _text),  # {data}_{method}
        ("data", _text),
        ("data_source", _text),  # the origin of this copy; null if it could not be read
        ("method", _text),
        ("task", _text),  # classification | regression | clustering
        ("records", _int),  # of the whole data set, held-out records included
        ("features", _int),
        ("engine", _text),  # Spark's master: local[2], standalone[2] or a URL
        ("phase", _text),  # defaults | platform | hyper | joint
        ("varied", _text),  # parameters that differ from their defaults, joined by +; may be empty
        ("settings", _text),  # JSON: every platform parameter and hyperparameter, by name
        ("repeat", _int),  # 0, 1, ...
        ("complete", _bool),  # false: it failed
        ("error", _text),  # why it failed; otherwise empty
        ("quality", _float),  # on held-out records, higher is better; null for a single cluster
        ("quality_measure", _text),  # accuracy | f1 | r2 | silhouette
        ("train_s", _float),
        ("train_s_per_1000_records", _float),  # of the training records
        ("inference_records_per_s", _float),
        ("price_usd", _float),  # of the training, modelled: by the hour and by the GB
        ("tasks", _int),  # of Spark, in the whole run, as are the following sums
        ("task_s", _float),  # the time that tasks held their slots
        ("deserialization_s", _float),
        ("shuffle_wait_s", _float),  # for data that other tasks had written
        ("shuffle_read_bytes", _int),
        ("shuffle_write_bytes", _int),
        ("gc_s", _float),
        ("executor_cpu_s", _float),  # of the tasks' own threads
        ("cpu_s", _float),  # of all Spark processes on this machine
        ("peak_rss_bytes", _int),  # of all Spark processes on this machine
        ("network_bytes", _int),  # sent by this machine in the run, loopback included
        ("energy_j", _float),  # of the run
        ("energy_source", _text),  # measured | modelled | unknown (then the joules are null)
        ("wall_s", _float),  # of the run: prepare the data, train, use, evaluate and measure
        ("own_s", _float),  # of these, our own work besides Spark's
        ("started", _text),  # ISO 8601, UTC
    ]
)

MAY_BE_NEGATIVE = {
    *("exit_code", "priority", "score", "accuracy", "quality"),
    *("own_growth_bytes", "total_growth_bytes"),  # of imports
}
WORDS = {
    "task": {"classification", "regression", "clustering"},
    "phase": {"defaults", "platform", "hyper", "joint"},
    "quality_measure": {"accuracy", "f1", "r2", "silhouette"},
    "energy_source": {"measured", "modelled", "unknown"},
    "type": {"file", "folder", "link", "other"},
    "end": {"finished", "evicted", "migrated", "failed", "level"},
}
NEVER_NULL = {
    *("workload", "hardware", "condition", "wall_s", "epoch", "duration_s"),
    *(name for name in LIBRARIES.names if name not in ("build_id", "reason")),
    *(name for name in FILES.names if name != "reason"),
    *(name for name in SCHEDULED.names if name != "energy_j"),
    *("phase", "varied", "settings", "complete", "wall_s"),
    *("end_s", "end", "busy_core_s", "down_s", "time_s", "pending", "running"),
}

# One row a run of a task program, or a simulation of its recorded graph. Failed runs are rows too,
# with null for values that were not measured.
PROTECTED_RUNS = pa.schema(
    [
        ("task_program", _text),
        ("hardware", _text),
        ("variant", _text),  # original | ompss | sgx | sgxo | esgx | esgxo
        ("enclave", _text),  # process | pkeys | modelled; of a simulation: conf/enclave; null: none
        ("costs", _text),  # of a simulation or a modelled enclave: conf/enclave; else null
        ("protection", _text),  # the program's name of its protection; null: none
        ("workers", _int),
        ("size", _int),
        ("block", _int),
        ("schedule_policy", _text),  # openmp of a run; breadth_first | ... of a simulation
        ("repeat", _int),  # 0, 1, ...; of a simulation 0
        ("complete", _bool),  # false: it failed
        ("error", _text),  # why it failed; otherwise empty
        ("tasks", _int),
        ("enclave_calls", _int),
        ("enclave_bytes", _int),  # into enclaves and out of them
        ("run_s", _float),  # from the first task to the end of the last
        ("energy_j", _float),  # during run_s
        ("energy_source", _text),  # measured | modelled | unknown (then the joules are null)
        ("source", _text),  # of the run time: measured, or modelled for an enclave or simulation
        ("started", _text),  # ISO 8601, UTC; null of a simulation
    ]
)
