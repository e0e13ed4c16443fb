"""The models that ONNX Runtime carries, and a convolutional network made by hand."""

import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.datasets import get_example

batch = int(sys.argv[1])
random = np.random.default_rng(1)


def tensor(name, *shape):
    return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32) / 4, name)


for name, shape in (("mul_1.onnx", (3, 2)), ("sigmoid.onnx", (3, 4, 5))):
    session = onnxruntime.InferenceSession(get_example(name), providers=["CPUExecutionProvider"])
    given = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    print(name, session.run(None, {session.get_inputs()[0].name: given})[0].ravel()[:3].round(4))

nodes = [
    helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["c"], ["r"]),
    helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("GlobalAveragePool", ["p"], ["g"]),
    helper.make_node("Flatten", ["g"], ["f"]),
    helper.make_node("Gemm", ["f", "m"], ["l"]),
    helper.make_node("Softmax", ["l"], ["y"]),
]
given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 32, 32])
wanted = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])
weights = [tensor("w", 8, 3, 3, 3), tensor("m", 8, 10)]
graph = helper.make_graph(nodes, "network", [given], [wanted], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
session = onnxruntime.InferenceSession(model.SerializeToString())
images = random.standard_normal((batch, 3, 32, 32)).astype(np.float32)
print("network", session.run(None, {"x": images})[0].mean(0).round(4).tolist())
