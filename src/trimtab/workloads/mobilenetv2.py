"""MobileNetV2 (Sandler et al. 2018), as transformers implements it, on CIFAR-10."""

from typing import Any

from torch import nn
from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

from trimtab.workloads.common import classification, program
from trimtab.workloads.data import cifar10


class MobileNetV2(nn.Module):  # type: ignore[misc]
    """MobileNetV2 of width 1.0 for 10 classes, 2,236,682 parameters.

    The output stride of 8, by dilation, keeps 4 x 4 positions of a 32 x 32 image in the last
    layers; ImageNet's stride of 32 would leave one. Weights are random; nothing is fetched.
    """

    def __init__(self) -> None:
        super().__init__()
        config = MobileNetV2Config(
            image_size=32, num_labels=10, output_stride=8, classifier_dropout_prob=0.2
        )
        self.model = MobileNetV2ForImageClassification(config)

    def forward(self, images: Any) -> Any:
        """Return logits [batch, 10] of images [batch, 3, 32, 32]."""
        return self.model(pixel_values=images).logits


if __name__ == "__main__":
    program.main(
        "MobileNetV2 on CIFAR-10.",
        16,
        lambda options: classification.run(options, lambda _: MobileNetV2(), cifar10.load),
        learning_rate=classification.LEARNING_RATE,
    )
