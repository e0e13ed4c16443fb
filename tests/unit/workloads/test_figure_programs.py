"""The programs of figures 2.4 and 6.3: parts of using a model, and training among other jobs."""

import copy
from typing import Any

import psutil
import pytest
import torch

from trimtab.workloads.tuned.alexnet_parts import build, passed
from trimtab.workloads.tuned.lenet5_among_jobs import among


def batches() -> list[Any]:
    random = torch.Generator().manual_seed(1)
    inputs = torch.randn(4, 3, 32, 32, generator=random)
    return [(inputs, torch.arange(4)), (inputs[:2], torch.arange(2))]


def test_only_training_changes_the_weights_and_only_inference_records_nothing() -> None:
    torch.manual_seed(0)
    model = build()
    recorded = list[bool]()
    model.register_forward_hook(lambda *of: recorded.append(of[-1].requires_grad))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for part, records in (("training", True), ("forward", True), ("inference", False)):
        before = copy.deepcopy(model.state_dict())
        recorded.clear()
        loss, accuracy = passed(model, part, batches(), optimiser)
        assert recorded == [records, records] and model.training == records, part
        same = all(torch.equal(before[name], now) for name, now in model.state_dict().items())
        assert same == (part != "training"), part
        assert loss > 0 and accuracy in [n / 6 for n in range(7)]
    # Nothing is dropped in inference, so it answers alike again.
    assert passed(model, "inference", batches(), None) == (loss, accuracy)


def test_other_jobs_live_as_long_as_the_training() -> None:
    own = psutil.Process()
    before = own.children()
    with among(3):
        others = [child for child in own.children() if child not in before]
        assert [child.cmdline()[1:3] for child in others] == [
            ["-m", "trimtab.workloads.lenet5"]
        ] * 2
    assert not any(child.is_running() for child in others)
    with pytest.raises(SystemExit), among(2):  # as at a trial's last epoch
        [other] = [child for child in own.children() if child not in before]
        raise SystemExit
    assert not other.is_running()
    with among(1):
        assert not [child for child in own.children() if child not in before]
