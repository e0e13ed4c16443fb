"""The task graphs of the paper's two networks, generated: Rocha's thesis, section 8.4.

What the native programs record is compared with them.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from trimtab.secure_tasks.graphs.builder import GraphBuilder
from trimtab.secure_tasks.graphs.graph import TaskGraph

DOUBLE_BYTES = 8
_HEAD = 8  # numbers before a layer's weights, which say what it is
_STRIDE = 8  # pixels to a cell of the grid
_BOX_NUMBERS = 6
_FOUND_HEAD, _GRID_NUMBERS = 2, 5


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


_LAYERS = (
    ConvolutionLayer(1, 6, 5, 2, 28, 28, pooled=True),
    ConvolutionLayer(6, 16, 5, 0, 14, 14, pooled=True),
    ConvolutionLayer(16, 120, 5, 0, 5, 5),
    ConvolutionLayer(120, 84, 1, 0, 1, 1),
    ConvolutionLayer(84, 10, 1, 0, 1, 1),
)


def lenet(batches: int, batch_size: int, *, flop_s: float, secure: bool = True) -> TaskGraph:
    """Return the graph of `batches` x `batch_size` images of 28 x 28 pixels.

    Batches are chains that are free of each other; all read the same weights. `flop_s` is the time
    of one operation (modelled). Rocha's thesis, section 8.4.
    """
    graph = GraphBuilder()
    for batch in range(batches):
        for number, layer in enumerate(_LAYERS):
            graph.add(
                "convolve",
                flop_s * batch_size * layer.operations,
                reads=[("weights", number), (number, batch)],
                writes=[(number + 1, batch)],
                bytes_in=layer.weights_bytes + batch_size * layer.in_bytes,
                bytes_out=batch_size * layer.out_bytes,
                secure=secure,
            )
    return graph.graph()


def detector(
    bands: int,
    band_rows: int,
    *,
    images: int,
    width: int,
    boxes: int,
    classes: int,
    flop_s: float,
    secure: bool = True,
) -> TaskGraph:
    """Return the graph of `images`, one after the other, each of `bands` x `band_rows` rows.

    Images are square, with sides that are multiples of 8. A band waits for the same band of the
    previous layer and its two neighbours. All layers except the last two halve the sides. At the
    end, the `boxes` of the cells of each band are collected, and overlapping ones suppressed.
    Between layers all images share memory. The first layer has `width` output channels. `flop_s` is
    the time of one operation; boxes take one per number (modelled). Rocha's thesis, section 8.4.
    """
    graph = GraphBuilder()
    layers = _layers(bands * band_rows, band_rows, width, 5 * boxes + classes)
    cells = (bands * band_rows // _STRIDE) ** 2
    grid_bytes = DOUBLE_BYTES * _GRID_NUMBERS
    found_bytes = DOUBLE_BYTES * (_FOUND_HEAD + _BOX_NUMBERS * cells * boxes)
    for image in range(images):
        for number in range(len(layers)):
            for band in range(bands):
                _add_band(graph, layers, number, image, band, bands, flop_s, secure)
        for band in range(bands):
            band_bytes = layers[-1].out_bytes
            graph.add(
                "collect",
                flop_s * band_bytes / DOUBLE_BYTES,
                reads=["grid", (image, band, "out"), ("found", image)],
                writes=[("found", image)],
                bytes_in=grid_bytes + band_bytes + found_bytes,
                bytes_out=found_bytes,
                working_set_bytes=grid_bytes + band_bytes + found_bytes,
                secure=secure,
            )
        graph.add(
            "suppress",
            flop_s * found_bytes / DOUBLE_BYTES,
            reads=["grid", ("found", image)],
            writes=[("found", image)],
            bytes_in=grid_bytes + found_bytes,
            bytes_out=found_bytes,
            working_set_bytes=grid_bytes + found_bytes,
            secure=secure,
        )
    return graph.graph()


def _layers(side: int, rows: int, width: int, channels: int) -> list[ConvolutionLayer]:
    """Return the layers for one band."""
    return [
        ConvolutionLayer(3, width, 3, 1, rows, side, pooled=True),
        ConvolutionLayer(width, 2 * width, 3, 1, rows // 2, side // 2, pooled=True),
        ConvolutionLayer(2 * width, 4 * width, 3, 1, rows // 4, side // 4, pooled=True),
        ConvolutionLayer(4 * width, 4 * width, 3, 1, rows // 8, side // 8),
        ConvolutionLayer(4 * width, channels, 1, 0, rows // 8, side // 8),
    ]


def _add_band(
    graph: GraphBuilder,
    layers: list[ConvolutionLayer],
    number: int,
    image: int,
    band: int,
    bands: int,
    flop_s: float,
    secure: bool,
) -> None:
    layer = layers[number]

    def before(of_band: int) -> Hashable:
        return (image, of_band, "in") if number == 0 else (number, of_band)

    near = [band]
    if layer.padding:
        near = [at for at in (band - 1, band, band + 1) if 0 <= at < bands]
    kind = "convolve"
    if len(near) > 1:
        kind += "_first" if band == 0 else "_last" if band == bands - 1 else "_middle"
    is_last = number == len(layers) - 1
    graph.add(
        kind,
        flop_s * layer.operations,
        reads=[("weights", number), *map(before, near)],
        writes=[(image, band, "out") if is_last else (number + 1, band)],
        bytes_in=layer.weights_bytes + len(near) * layer.in_bytes,
        bytes_out=layer.out_bytes,
        secure=secure,
    )
