"""Layers of convolutional networks: what a task of one reads, writes and calculates."""

from dataclasses import dataclass

DOUBLE_BYTES = 8
_HEAD = 8  # numbers before a layer's weights, which say what it is


@dataclass(frozen=True)
class ConvolutionLayer:
    """A convolution of `kernel` x `kernel`, with pooling of 2 x 2 where it is `pooled`.

    Images before it are [inputs, rows, columns], and `padding` zeros lie around them.
    """

    inputs: int
    outputs: int
    kernel: int
    padding: int
    rows: int
    columns: int
    pooled: bool = False

    @property
    def weights_bytes(self) -> int:
        """Of the block of weights."""
        weights = self.outputs * self.inputs * self.kernel**2
        return DOUBLE_BYTES * (_HEAD + weights + self.outputs)

    @property
    def in_bytes(self) -> int:
        """Of an image before it."""
        return DOUBLE_BYTES * self.inputs * self.rows * self.columns

    @property
    def out_bytes(self) -> int:
        """Of an image after it."""
        return DOUBLE_BYTES * self.outputs * self._positions // (4 if self.pooled else 1)

    @property
    def operations(self) -> int:
        """Products and sums of an image."""
        return 2 * self.outputs * self.inputs * self.kernel**2 * self._positions

    @property
    def _positions(self) -> int:
        less = 2 * self.padding - self.kernel + 1
        return (self.rows + less) * (self.columns + less)
