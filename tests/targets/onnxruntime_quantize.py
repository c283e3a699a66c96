# SPDX-License-Identifier: Apache-2.0
"""What `octet quantize --target onnxruntime` writes, in every format of weights and of activations: ONNX Runtime loads it with all
of its optimizations and computes what it computes without them; or octet says why it writes nothing, and ends with 2."""
import itertools
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from qdq import octet

BYTES = ("int8", "uint8")
WEIGHTS = (*BYTES, "int16", "int4", "uint4", "int2", "uint2", "fp8-e4m3fn", "fp8-e5m2", "fp8-e4m3fnuz", "fp8-e5m2fnuz", "int8/32", "int4/16",
           "fp8-e4m3fn/32", "bits:4")
ACTIVATIONS = (*BYTES, "int16", "uint16", "int4", "uint4", "int2", "fp8-e4m3fn", "fp8-e5m2", "fp8-e4m3fnuz", "fp8-e5m2fnuz", "float", "bits:4")
random = np.random.default_rng(7)


class Float:
    """A float model over one input x."""

    def __init__(self, shape):
        self.shape, self.nodes, self.constants = shape, [], []

    def weight(self, *shape):
        name = f"w{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(random.normal(0, 0.5, shape).astype(np.float32), name))
        return name

    def numbers(self, *values, kind=np.int64):
        name = f"k{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values[0] if kind == np.float32 else values, kind), name))
        return name

    def node(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{op}_{len(self.nodes)}", **attributes))
        return name

    def made(self, output, opset):
        graph = helper.make_graph(self.nodes, "model", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def network(opset):
    m = Float(["N", 3, 8, 8])
    a = m.node("Relu", m.node("Conv", "x", m.weight(8, 3, 3, 3), m.weight(8), pads=[1] * 4))
    b = m.node("MaxPool", a, kernel_shape=[2, 2], strides=[2, 2])
    c = m.node("Clip", m.node("Conv", b, m.weight(8, 8, 1, 1)), m.numbers(0, kind=np.float32), m.numbers(2, kind=np.float32))
    d = m.node("Add", m.node("Conv", c, m.weight(8, 8, 1, 1)), b)
    e = m.node("Flatten", m.node("AveragePool", d, kernel_shape=[2, 2]))
    return m.made(m.node("Gemm", m.node("Relu", m.node("Gemm", e, m.weight(72, 32), m.weight(32))), m.weight(10, 32), transB=1), opset)


def encoder(opset):
    """MatMul with and without a bias, of known sizes."""
    m = Float([2, 4, 32])
    heads = []
    for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        y = m.node("Add", m.node("MatMul", "x", m.weight(32, 32)), m.weight(32))
        heads.append(m.node("Transpose", m.node("Reshape", y, m.numbers(0, 0, 2, 16)), perm=perm))
    p = m.node("Softmax", m.node("MatMul", heads[0], heads[1]), axis=-1)
    o = m.node("Reshape", m.node("Transpose", m.node("MatMul", p, heads[2]), perm=[0, 2, 1, 3]), m.numbers(0, 0, 32))
    y = m.node("Add", m.node("Add", m.node("MatMul", o, m.weight(32, 32)), m.weight(32)), "x")
    return m.made(m.node("MatMul", m.node("Relu", y), m.weight(32, 8)), opset)


def batches(opset):
    """Weights of three axes, and a product of two activations behind a Slice."""
    m = Float([2, 4, 32])
    y = m.node("MatMul", m.node("Relu", m.node("MatMul", "x", m.weight(2, 32, 16))), m.weight(2, 16, 4))
    z = m.node("Slice", m.node("Tanh", y), m.numbers(0), m.numbers(4), m.numbers(2))
    return m.made(m.node("MatMul", z, m.node("Unsqueeze", m.node("MatMul", y, m.weight(4, 4)), m.numbers(0))), opset)


def run(path, x, optimized):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def option(what, value):
    return [f"--{what.rstrip('s')}-bits", value.split(":")[1]] if value.startswith("bits:") else [f"--{what}", value]


def judge(title, source, words, data, x, out):
    """(whether a file was written, faults)."""
    done = octet("quantize", source, "--data", f"npz:{data}", "--target", "onnxruntime", *words, "-o", out, "--force", "--threads", 1)
    if done.returncode == 2 and done.stderr.strip():
        return False, []
    if done.returncode != 0:
        return False, [f"{title}: exit {done.returncode}: {done.stderr[:300]}"]
    try:
        plain = run(out, x, False)
    except Exception as error:
        return True, [f"{title}: not even without optimizations: {str(error)[:300]}"]
    try:
        given = run(out, x, True)
    except Exception as error:
        return True, [f"{title}: check accepts it, ONNX Runtime: {str(error)[:300]}"]
    # A tie of codes is a step of the Q behind, of few codes as large as outputs; what is behind few of them is compared by
    # tests/differential/quantize_command.py.
    wide = title.split()[-1] in (*BYTES, "int16", "uint16")
    size = (lambda v: np.abs(v).max()) if wide else np.linalg.norm
    off, bound = size(plain - given) / size(plain), 0.15 if wide else 1
    return True, [f"{title}: {off:.3g} of the {'largest' if wide else 'norm'} off"] if not off <= bound else []


def main():
    found, written, count = [], 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for make, opset in itertools.product((network, encoder, batches), (17, 21, 23)):
            model = make(opset)
            source, data = folder / "float.onnx", folder / "data.npz"
            onnx.save(model, source)
            shape = [d.dim_value or 2 for d in model.graph.input[0].type.tensor_type.shape.dim]
            x = random.normal(size=shape).astype(np.float32)
            np.savez(data, x=random.normal(size=[shape[0] * 8, *shape[1:]]).astype(np.float32))
            cases = [(w, a) for w in WEIGHTS for a in ACTIVATIONS] if opset == 17 else list(zip(WEIGHTS, ACTIVATIONS)) + [("int8", a) for a in ACTIVATIONS]
            for weights, activations in cases:
                count += 1
                words = [*option("weights", weights), *option("activations", activations)]
                made, faults = judge(f"{make.__name__} opset {opset} {weights} x {activations}", source, words, data, x, folder / "q.onnx")
                written += made
                found += faults
    print(f"{written} of {count} files written, {len(found)} faults")
    for fault in found[:60]:
        print(fault)
    return 1 if found or written < 0.9 * count else 0


sys.exit(main())
