"""Stage growth: the lines of code bases by the year in which they came."""

from pathlib import Path
from typing import Any, ClassVar

from trimtab.config.stages import GrowthStage
from trimtab.workflow.stage import Stage


class GrowthCells(Stage):
    """The code bases of the experiment."""

    cells: ClassVar = {"code_base": "growth"}
    handed_on = ("lines.parquet",)
    target = "growth"

    def given(self, wildcards: Any) -> GrowthStage:
        """Return a code base and the commit that its revision names now: later ones are new."""
        from trimtab.growth.history import open_repository, tip_of

        code_base = self.config.option("code_base", wildcards.code_base)
        tip = tip_of(open_repository(Path(code_base.location)), code_base.revision)
        return GrowthStage(code_base, tip)
