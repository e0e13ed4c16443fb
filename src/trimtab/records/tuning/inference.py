"""`known_inference.json`: measured costs of inference by architecture, to measure none twice.

It only has measurements and no objective, so another objective finds its own best.
"""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import Amount, Digest, EnergySource, Share, Text, Whole, Word

ParameterValue = bool | int | float | Text | None


@dataclass(frozen=True, config=PART)
class Emulated:
    """How a device was emulated: a batch took `slower` times as long as at this machine's full
    speed; `cpu_share` of it was real execution, and the rest was scaled. The interval is from
    `slower_low` to `slower_high`; without `left_out_error` its error is not measured.
    """

    device: Word
    cpu_share: Share
    slower: Amount
    slower_low: Amount
    slower_high: Amount
    left_out_error: Amount | None = None


@dataclass(frozen=True, config=PART)
class MeasuredInference:
    """The costs of inference under one configuration: a sample's time and energy, and the times of
    the measured batches; or the `failure`. Energy is unknown without a meter or a model. `not_set`
    says why settings were not in effect. `emulated` is None for this machine itself.
    """

    configuration: dict[Word, int | float]
    inference_s: Amount = 0.0
    inference_j: Amount | None = None
    energy_source: EnergySource = ""
    batch_s: list[Amount] = Field(default_factory=list)
    peak_rss_bytes: Whole = 0
    not_set: dict[Word, Text] = Field(default_factory=dict)
    failure: Text = ""
    emulated: Emulated | None = None

    @model_validator(mode="after")
    def _is_either(self) -> Self:
        if not self.failure and not (self.inference_s > 0 and self.batch_s):
            raise ValueError("inference_s, batch_s: expected times, or a failure")
        return self


@dataclass(frozen=True, config=PART)
class KnownArchitecture:
    """The measured configurations of one architecture.

    `program` is the digest of the inference workload, and `machine` the name of its hardware.
    """

    machine: Word
    program: Digest
    architecture: dict[Word, ParameterValue]
    measured: list[MeasuredInference]


class KnownInferenceRecord(Document):
    """All known architectures, in the order of their addition."""

    stage: ClassVar[str] = "tune"
    version: Literal[1] = 1
    architectures: list[KnownArchitecture] = Field(default_factory=list)
