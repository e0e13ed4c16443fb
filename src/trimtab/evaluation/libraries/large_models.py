"""The sizes of targets with large language models, and of those with several GPUs."""

import re
from collections.abc import Iterator

from trimtab.evaluation.libraries.size_columns import (
    SIZE_COLUMNS,
    libraries_and_sizes,
    sizes_meaning,
)
from trimtab.evaluation.report.section import GPU_CODE, TargetSection
from trimtab.evaluation.report.tables import Column, Row, Table, compared, target_row

_LLM = re.compile(
    r"(?<![a-z])(command[-_ ]?r|gemma|gpt|internlm|llama|mistral|mixtral|phi|qwen|yi|zephyr)"
    r"(?![a-z])",
    re.IGNORECASE,
)


class LargeModels(TargetSection):
    """The sizes of targets that run a large language model or several GPUs."""

    order = 230
    chapter = GPU_CODE

    def make_tables(self) -> Iterator[Table]:
        """A row for each such target."""
        rows: list[Row] = []
        for target in self.measurements.targets:
            facts = [self.measurements.inputs.facts(name) for name in target.workloads]
            models = sorted({fact.model for fact in facts} - {""})
            usages = self.measurements.usages(target).values()
            gpus = max((len(usage.gpus) for usage in usages), default=0)
            if gpus > 1 or any(_LLM.search(model) for model in models):
                frameworks = sorted({fact.framework for fact in facts} - {""})
                of_it = {"model": ", ".join(models), "framework": ", ".join(frameworks)}
                values = {**of_it, "gpus": gpus, **libraries_and_sizes(target)}
                rows.append(target_row(target, values))
        yield compared(
            "sizes_of_large_models",
            "Large language models and several GPUs",
            "Targets with a large language model, and targets that run where they see several "
            f"GPUs. {sizes_meaning(self.measurements)}",
            (
                Column("model", "Model", in_report=False),
                Column("framework", "Framework", in_report=False),
                Column("gpus", "GPUs", 0),
                Column("libraries", "Libraries", 0),
                *SIZE_COLUMNS,
            ),
            rows,
            missing="Not measured: no target runs a large language model or sees several GPUs.",
        )
