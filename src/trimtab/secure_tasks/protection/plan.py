"""The runs of a task program in an experiment, and their order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trimtab.config.groups.protection.protect import EnclaveKind, Variant
from trimtab.config.stages import ProtectStage

Key = tuple[Any, ...]
# The columns that identify a run of a program.
KEY = ("variant", "enclave", "costs", "workers", "size", "block", "repeat")


@dataclass(frozen=True)
class SetUp:
    """A set-up of a program; `costs` names the file in `conf/enclave/` for `modelled`."""

    variant: Variant
    enclave: EnclaveKind | None
    costs: str | None
    workers: int
    size: int
    block: int

    def key(self, repeat: int) -> Key:
        """Return the key of a run."""
        enclave = None if self.enclave is None else str(self.enclave)
        return (
            str(self.variant), enclave, self.costs, self.workers, self.size, self.block, repeat
        )  # fmt: skip


def set_ups(stage: ProtectStage) -> list[SetUp]:
    """Return every set-up once: all variants and workers, then other sizes and other blocks.

    Other sizes and blocks run only on the first number of workers, as by SGX-OmpSs' authors.
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
    """Yield each set-up with each repeat: repeat by repeat, every other one backwards.

    So neither slow changes of the machine nor warm caches favour a set-up.
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
