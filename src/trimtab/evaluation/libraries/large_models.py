"""Targets with a large language model, and targets that see several GPUs."""

import re
from functools import cached_property

from trimtab.evaluation.libraries.size_columns import SIZE_COLUMNS, sizes, sizes_meaning
from trimtab.evaluation.report.chapters import GPU_CODE
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.section import TargetSection
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    MEASURED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    published_rows,
)

_LLM = re.compile(
    r"(?<![a-z])(command[-_ ]?r|gemma|gpt|internlm|llama|mistral|mixtral|phi|qwen|yi|zephyr)"
    r"(?![a-z])",
    re.IGNORECASE,
)


class LargeModels(TargetSection):
    """The sizes of targets that run a large language model or several GPUs."""

    order = 230
    chapter = GPU_CODE

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """A row for each such target."""
        rows: list[Row] = []
        for target in self.measurements.targets:
            facts = [self.measurements.inputs.facts(name) for name in target.workloads]
            models = sorted({fact.model for fact in facts} - {""})
            usages = self.measurements.usages(target).values()
            gpus = max((len(usage.gpus) for usage in usages), default=0)
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
        table = Table(
            "sizes_of_large_models",
            titled("Large language models and several GPUs", "sizes_of_large_models"),
            "Targets with a large language model, and targets that run where they see several "
            f"GPUs. {sizes_meaning(self.measurements)}",
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
            (*rows, *published_rows("sizes_of_large_models")),
            "Not measured: no target runs a large language model or sees several GPUs.",
        )
        return (table,)
