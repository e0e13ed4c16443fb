"""What of task programs an experiment runs in enclaves, and what it simulates."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    Count,
    InvalidValueError,
    Names,
    Positive,
    Runs,
    about,
    satisfying,
)

_MOST_WORKERS = 32  # of a native program
_MOST_SIMULATED = 1024
EnclaveKind = StrEnum("EnclaveKind", "PROCESS PKEYS MODELLED")


class Variant(StrEnum):
    """The variants of a program (Rocha's thesis, section 8.1)."""

    ORIGINAL = "original"
    OMPSS = "ompss"
    SGX = "sgx"
    SGXO = "sgxo"
    ESGX = "esgx"
    ESGXO = "esgxo"

    @property
    def has_tasks(self) -> bool:
        """Whether several workers can run it."""
        return self in (Variant.OMPSS, Variant.SGXO, Variant.ESGXO)

    @property
    def is_protected(self) -> bool:
        """Whether its tasks run in an enclave."""
        return self not in (Variant.ORIGINAL, Variant.OMPSS)

    @property
    def is_encrypted(self) -> bool:
        """Whether their data are encrypted outside of it."""
        return self in (Variant.ESGX, Variant.ESGXO)


def _once(least: int, most: int) -> object:
    def holds(numbers: list[int]) -> bool:
        return len(numbers) >= least and len(set(numbers)) == len(numbers) and max(numbers) <= most

    return satisfying(holds, f"at least {least}, each once, of at most {most}")


@dataclass(config=CHECKED)
class Protect:
    """The cells that are protected: programs x variants x enclaves x workers, on the hardware."""

    programs: Names = about("Files in `conf/task_program/`.", factory=list)
    variants: Annotated[list[Variant], satisfying(len, "at least one variant")] = about(
        "The first two are not protected.",
        factory=lambda: list(Variant),
    )
    enclaves: list[EnclaveKind] = about(
        "Enclaves of the protected runs.",
        factory=lambda: [EnclaveKind.PROCESS],
    )
    costs: Names = about(
        "Files in `conf/enclave/`: each is simulated, and `modelled` takes as long.",
        factory=lambda: ["sgx1"],
    )
    workers: Annotated[list[Count], _once(1, _MOST_WORKERS)] = about(
        "Workers of the runs.", factory=lambda: [1, 2]
    )
    simulated_workers: Annotated[list[Count], _once(1, _MOST_SIMULATED)] = about(
        "Workers of the simulations.", factory=lambda: [1, 2, 4, 8]
    )
    policies: Names = about(
        "Simulated policies, modules of `trimtab.secure_tasks.simulation.policies`.",
        factory=lambda: ["breadth_first", "work_first", "enclave_aware"],
    )
    repeats: Runs = about("Runs of each set-up, in turn.", default=3)
    timeout_s: Positive = about("Longest run.", default=600.0, unit="s", no_result=True)

    @model_validator(mode="after")
    def _has_costs(self) -> Self:
        if EnclaveKind.MODELLED in self.enclaves and not self.costs:
            raise InvalidValueError("costs", [], "at least one name, as `modelled` has to wait")
        if self.costs and not self.policies:
            raise InvalidValueError("policies", [], "at least one name, as costs are simulated")
        return self

    def __bool__(self) -> bool:
        """Whether any program is protected."""
        return bool(self.programs)
