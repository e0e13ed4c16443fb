"""LeNet5 on many images: each task is a layer on one batch of them."""

from trimtab.enclaves.graphs.applications.layers import ConvolutionLayer
from trimtab.enclaves.graphs.builder import GraphBuilder
from trimtab.enclaves.graphs.graph import TaskGraph

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
