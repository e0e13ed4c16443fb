"""A detector in the manner of YOLO: one network over the full image, a band of rows a task."""

from collections.abc import Hashable

from trimtab.enclaves.graphs.applications.layers import DOUBLE_BYTES, ConvolutionLayer
from trimtab.enclaves.graphs.builder import GraphBuilder
from trimtab.enclaves.graphs.graph import TaskGraph

_STRIDE = 8  # pixels to a cell of the grid
_BOX_NUMBERS = 6
_FOUND_HEAD, _GRID_NUMBERS = 2, 5


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

    They are square, and their sides multiples of 8. A band waits for that before it in the layer
    above and for the two beside that; all layers but the last two halve the sides. At the end the
    `boxes` of the cells of each band are collected, and those that overlap suppressed. Between
    layers all images have the same memory. `width` channels come out of the first layer. `flop_s`
    is the time of one operation, of which boxes have one a number (modelled). Rocha's thesis,
    section 8.4.
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
    """Return the layers, as they are for one band."""
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
