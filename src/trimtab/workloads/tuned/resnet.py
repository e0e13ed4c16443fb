"""ResNet (He et al. 2016), as transformers implements it, on CIFAR-10."""

from typing import Any

from torch import nn
from transformers import ResNetConfig, ResNetForImageClassification

from trimtab.workloads.common import classification, program
from trimtab.workloads.data import InputError, cifar10

# Table 1 of the paper: blocks of each stage, by number of layers.
_BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}


class ResNet(nn.Module):  # type: ignore[misc]
    """ResNet of 18, 34 or 50 layers. Weights are random; nothing is fetched.

    The first layers are as for ImageNet, and reduce a 32 x 32 image to 8 x 8 positions.
    """

    def __init__(self, layers: int, classes: int = 10) -> None:
        super().__init__()
        if layers not in _BLOCKS:
            raise InputError(f"--layers {layers}: expected one of {', '.join(map(str, _BLOCKS))}")
        bottlenecks = layers >= 50
        config = ResNetConfig(
            depths=_BLOCKS[layers],
            hidden_sizes=[width * (4 if bottlenecks else 1) for width in (64, 128, 256, 512)],
            layer_type="bottleneck" if bottlenecks else "basic",
            num_labels=classes,
        )
        self.model = ResNetForImageClassification(config)

    def forward(self, images: Any) -> Any:
        """Return logits [batch, classes] of images [batch, 3, 32, 32]."""
        return self.model(pixel_values=images).logits


if __name__ == "__main__":
    program.main(
        "ResNet on CIFAR-10.",
        32,
        lambda options: classification.run(
            options, lambda data: ResNet(options.layers, data.classes), cifar10.load
        ),
        learning_rate=classification.LEARNING_RATE,
        layers=18,
    )
