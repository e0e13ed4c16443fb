"""LeNet5 (LeCun et al. 1998) on Fashion-MNIST."""

from trimtab.workloads.common import classification, program
from trimtab.workloads.data import fashion_mnist
from trimtab.workloads.lenet5 import build

if __name__ == "__main__":
    program.main(
        "LeNet5 on Fashion-MNIST.",
        16,
        lambda options: classification.run(
            options, lambda _: build(options.dropout), fashion_mnist.load
        ),
        learning_rate=classification.LEARNING_RATE,
        dropout=0.0,
    )
