"""A model of timm classifying images, with weights initialised from the seed."""

import argparse
from typing import Any

from trimtab.workloads.common import command
from trimtab.workloads.data import digits

_ENLARGED = 28  # 8 x 28 = 224 pixels, the side for most of timm's models


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Classify the test digits; return the metrics with each image's class and logit."""
    import timm  # type: ignore[import-not-found]
    import torch

    from trimtab.workloads.common import torch_device

    device = torch_device.prepare(arguments.device, arguments.seed)
    model = timm.create_model(arguments.model, pretrained=False, num_classes=10).eval().to(device)
    images = digits.load(channels=3, enlarged=_ENLARGED).first(None, arguments.test_samples)
    classes: list[int] = []
    logits: list[float] = []
    with torch.inference_mode():
        for pixels in torch.from_numpy(images.test.inputs).split(arguments.batch_size):
            best = model(pixels.to(device).float() / 127.5 - 1).max(dim=1)
            logits += best.values.tolist()
            if not classes:
                command.mark_first_iteration()
            classes += best.indices.tolist()
    return {
        "data": {"name": images.name, "source": images.source},
        "device": torch_device.described(device),
        "torch": torch.__version__,
        "timm": timm.__version__,
        "model": arguments.model,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "classes": classes,
        "logits": logits,
    }


if __name__ == "__main__":
    options = command.parser("A model of timm classifying scikit-learn's digits at 224 x 224.")
    options.add_argument("--model", default="resnet50", help="a name of timm.list_models()")
    options.add_argument("--batch-size", type=command.positive, default=32)
    options.add_argument("--test-samples", type=command.positive, help="keep the first of them")
    command.main(options, run)
