"""Which runs of a task program an experiment asks for, and in which order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trimtab.config.groups.protection.protect import EnclaveKind, Variant
from trimtab.config.stages import ProtectStage

Key = tuple[Any, ...]
# The columns that tell a run from all others of a program.
KEY = ("variant", "enclave", "costs", "workers", "size", "block", "repeat")


@dataclass(frozen=True)
class SetUp:
    """How a program is run; `costs` names the file of `conf/enclave/` that `modelled` waits for."""

    variant: Variant
    enclave: EnclaveKind | None
    costs: str | None
    workers: int
    size: int
    block: int

    def key(self, repeat: int) -> Key:
        """Return what tells a run of it from all others."""
        enclave = None if self.enclave is None else str(self.enclave)
        return (
            str(self.variant), enclave, self.costs, self.workers, self.size, self.block, repeat
        )  # fmt: skip


def set_ups(stage: ProtectStage) -> list[SetUp]:
    """Return every set-up once: of all variants and workers, then other sizes and other blocks.

    Sizes and blocks other than the program's own are run on the first number of workers alone, as
    SGX-OmpSs' authors did.
    """
    found = []
    for size, block in stage.program.set_ups:
        own = (size, block) == (stage.program.size, stage.program.block)
        for variant in stage.protect.variants:
            workers = stage.protect.workers if own else stage.protect.workers[:1]
            for count in workers if variant.has_tasks else [1]:
                for enclave, costs in _enclaves(stage, variant):
                    found.append(SetUp(variant, enclave, costs, count, size, block))
    return list(dict.fromkeys(found))


def in_turns(stage: ProtectStage) -> Iterator[tuple[SetUp, int]]:
    """Yield each set-up with each repeat: all of one repeat together, every other time backwards.

    Neither what changes slowly on the machine nor warm caches then favour one.
    """
    forwards = set_ups(stage)
    for repeat in range(stage.protect.repeats):
        for set_up in forwards if repeat % 2 == 0 else reversed(forwards):
            yield set_up, repeat


def _enclaves(
    stage: ProtectStage, variant: Variant
) -> Iterator[tuple[EnclaveKind | None, str | None]]:
    if not variant.is_protected:
        yield None, None
        return
    for kind in stage.protect.enclaves:
        if kind == EnclaveKind.MODELLED:
            yield from ((kind, enclave.name) for enclave in stage.enclaves)
        else:
            yield kind, None
