"""Every set-up that was asked for is run, each once, in turns."""

from collections import Counter
from typing import Any

from trimtab.config.groups.enclave import CostRange, Enclave
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.protection.protect import EnclaveKind, Protect, Variant
from trimtab.config.groups.protection.task_program import TaskProgram
from trimtab.config.stages import ProtectStage
from trimtab.secure_tasks.protection.plan import in_turns, set_ups

HARDWARE = Hardware("it", 2, 1.0, 5.0, 0.1, 8.0, "a test")
ENCLAVE = Enclave("dear", call_s=CostRange(1e-5, 1e-5, "a test"))


def stage(**keys: Any) -> ProtectStage:
    program = TaskProgram("it", "matmul", 64, 16, sizes=[32], blocks=[8])
    return ProtectStage(program, Protect(**keys), [ENCLAVE], HARDWARE)


def test_variants_without_tasks_have_one_worker_and_without_protection_no_enclave() -> None:
    asked = stage(enclaves=list(EnclaveKind), workers=[1, 2, 4])
    found = set_ups(asked)
    assert len(set(found)) == len(found)
    for one in found:
        assert one.variant.has_tasks or one.workers == 1
        assert (one.enclave is not None) == one.variant.is_protected
        assert (one.costs is not None) == (one.enclave == EnclaveKind.MODELLED)
        assert one.workers == 1 or (one.size, one.block) == (64, 16)
    by_variant = Counter(one.variant for one in found if (one.size, one.block) == (64, 16))
    assert by_variant == {
        Variant.ORIGINAL: 1, Variant.OMPSS: 3, Variant.SGX: 3, Variant.SGXO: 9,
        Variant.ESGX: 3, Variant.ESGXO: 9,
    }  # fmt: skip
    assert {(one.size, one.block) for one in found} == {(64, 16), (32, 16), (64, 8)}


def test_repeats_are_in_turns_and_every_other_backwards() -> None:
    asked = stage(variants=[Variant.ORIGINAL, Variant.SGX], repeats=3)
    runs = list(in_turns(asked))
    once = set_ups(asked)
    assert [set_up for set_up, _ in runs] == [*once, *reversed(once), *once]
    assert [repeat for _, repeat in runs] == [n for n in range(3) for _ in once]
    keys = [set_up.key(repeat) for set_up, repeat in runs]
    assert len(set(keys)) == len(keys)
