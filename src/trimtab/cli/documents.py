"""What the command line keeps in a workspace, besides what stages write."""

from typing import ClassVar, Literal

from trimtab.config.groups.workload import Workload
from trimtab.records.document import Document


class TracedProgram(Document):
    """`workload.json`: the program that was traced."""

    stage: ClassVar[str] = "trimtab trace"
    version: Literal[1] = 1
    workload: Workload
