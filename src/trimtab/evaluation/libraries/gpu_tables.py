"""Tables 6, 7 and 10 of the paper: loading modes, large language models, several GPUs."""

import re

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.libraries.sizes import SIZE_COLUMNS, sizes, sizes_meaning
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    MEASURED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    published_rows,
)
from trimtab.evaluation.runs.tables import RUN_COLUMNS, RUNS_MEANING, run_row, target_column

_MODES = (
    "Eager loading puts all kernels of a library into memory when the program starts, lazy loading "
    "each when it is first used."
)
_NO_MODE = "Not measured: no workload with GPU code sets CUDA_MODULE_LOADING to EAGER or LAZY."
_LLM = re.compile(
    r"(?<![a-z])(command[-_ ]?r|gemma|gpt|internlm|llama|mistral|mixtral|phi|qwen|yi|zephyr)"
    r"(?![a-z])",
    re.IGNORECASE,
)


def table_6(measurements: Measurements) -> Table:
    """Return Table 6: the sizes of each target whose workloads state how GPU code is loaded."""
    rows: list[Row] = [
        {
            "name": target.label,
            "hardware": target.hardware,
            "loading": ", ".join(modes),
            "libraries": len(target.libraries),
            **sizes(target.libraries),
            "source": MEASURED,
        }
        for target in measurements.targets
        if target.has_gpu_code
        and (modes := sorted({_loading(measurements, name) for name in target.workloads} - {""}))
    ]
    return Table(
        "table_6",
        "Sizes under eager and lazy loading (Table 6)",
        f"{_MODES} {sizes_meaning(measurements)}",
        (
            Column("name", "Target"),
            HARDWARE_COLUMN,
            Column("loading", "Loading"),
            Column("libraries", "Libraries", 0),
            *SIZE_COLUMNS,
            *SOURCE_COLUMNS,
        ),
        (*rows, *published_rows("table_6")),
        _NO_MODE,
    )


def table_7(measurements: Measurements) -> Table:
    """Return Table 7: memory and time of the workloads that state how GPU code is loaded."""
    rows: list[Row] = [
        run_row(target, workload) | {"loading": mode}
        for target in measurements.targets
        if target.has_gpu_code
        for workload in target.workloads
        if (mode := _loading(measurements, workload))
    ]
    return Table(
        "table_7",
        "Run-time performance under eager and lazy loading (Table 7)",
        f"{_MODES} {RUNS_MEANING}",
        (
            Column("name", "Workload"),
            target_column(rows),
            HARDWARE_COLUMN,
            Column("loading", "Loading"),
            *(column for column in RUN_COLUMNS if not column.key.startswith("energy")),
            *SOURCE_COLUMNS,
        ),
        (*rows, *published_rows("table_7")),
        _NO_MODE,
    )


def table_10(measurements: Measurements) -> Table:
    """Return Table 10: the sizes of targets that run a large language model or several GPUs."""
    rows: list[Row] = []
    for target in measurements.targets:
        facts = [measurements.inputs.facts(name) for name in target.workloads]
        models = sorted({fact.model for fact in facts} - {""})
        gpus = max(
            (len(usage.get("gpus", ())) for usage in measurements.usages(target).values()),
            default=0,
        )
        if gpus < 2 and not any(_LLM.search(model) for model in models):
            continue
        rows.append(
            {
                "name": target.label,
                "hardware": target.hardware,
                "model": ", ".join(models),
                "framework": ", ".join(sorted({fact.framework for fact in facts} - {""})),
                "gpus": gpus,
                "libraries": len(target.libraries),
                **sizes(target.libraries),
                "source": MEASURED,
            }
        )
    return Table(
        "table_10",
        "Large language models and several GPUs (Table 10)",
        "Targets with a large language model, and targets that run where they see several GPUs. "
        f"{sizes_meaning(measurements)}",
        (
            Column("name", "Target"),
            HARDWARE_COLUMN,
            Column("model", "Model", in_report=False),
            Column("framework", "Framework", in_report=False),
            Column("gpus", "GPUs", 0),
            Column("libraries", "Libraries", 0),
            *SIZE_COLUMNS,
            *SOURCE_COLUMNS,
        ),
        (*rows, *published_rows("table_10")),
        "Not measured: no target runs a large language model or sees several GPUs.",
    )


def _loading(measurements: Measurements, workload: str) -> str:
    return measurements.inputs.facts(workload).loading
