# SPDX-License-Identifier: Apache-2.0
"""A case by its seed: a model and sets of inputs."""
import dataclasses

import numpy as np
import onnxruntime
from exact_products import options_of, with_exact_products
from onnx import TensorProto

from . import structure
from .plain import for_onnxruntime
from .quantization import Annotator
from .sketch import to_model


@dataclasses.dataclass
class Case:
    seed: int
    model: object  # ModelProto
    sets: list  # of {input name: array}
    free: bool = False  # any operators and types (free/); bounds are taken from ONNX Runtime

    @property
    def variant(self):
        return self.seed


class Skipped(Exception):
    """ONNX Runtime does not take the float graph, or there is nothing to ask."""


def session(model, exact_products=False, optimized=False, rewritten=True):
    """`rewritten`: products of a graph that is not optimized are written as exact ones."""
    options = options_of(exact_products)
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.use_deterministic_compute = True
    model = for_onnxruntime(model)
    data = (with_exact_products(model) if rewritten else model).SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def draw_inputs(s, shapes):
    out = {}
    for name in s.inputs:
        if name in s.ids:
            out[name] = s.random.integers(0, s.ids[name], shapes[name])
            continue
        x = s.random.standard_normal(shapes[name]) * s.choose(1, 1, 3)
        if s.chance(0.15):
            x = np.round(x * 4) / 4
        out[name] = x.astype(np.float32)
    return out


def input_sets(s):
    sets = [draw_inputs(s, s.shapes)]
    if s.open_batch:
        shapes = {}
        batch = int(s.choose(1, 2, 4))
        taller, wider = int(s.choose(0, 1, 3)), int(s.choose(0, 2))
        for name in s.inputs:
            shape = list(s.shapes[name])
            shape[0] = batch
            if name in s.open_planes:
                shape[2] += taller
                shape[3] += wider
            shapes[name] = shape
        sets.append(draw_inputs(s, shapes))
    return sets


def calibrate(s, sets, largest=1e5):
    """Ranges of all values for the first set of inputs, by ONNX Runtime. Other sets are for other sizes, which not every
    graph takes: those that it does not take are left out."""
    names = [name for n in s.nodes for name in n.outputs if name and name not in s.integers]
    model = to_model(s, s.nodes, s.constants, [(name, TensorProto.FLOAT, None) for name in names])
    try:
        made = session(model)
        arrays = dict(zip(names, made.run(None, sets[0])))
    except Exception as error:
        raise Skipped(f"the float graph: {error}") from error
    for at in reversed(range(1, len(sets))):
        try:
            made.run(None, sets[at])
        except Exception:
            del sets[at]
    arrays.update(sets[0])
    for name, array in arrays.items():
        if tuple(array.shape) != tuple(s.shapes[name]):
            raise Skipped(f"drawn as {s.shapes[name]}, computed as {array.shape}: "
                          + next((n.op + str(n.attributes) for n in s.nodes if name in n.outputs), "input"))
        if not np.isfinite(array).all() or np.abs(array).max() > largest:
            raise Skipped("large numbers")
    return {name: (float(a.min()), float(a.max())) for name, a in arrays.items()}


def generate_float(seed):
    """The graphs that `generate` puts Q/DQ on have other seeds."""
    s = structure.draw_structure(np.random.default_rng([seed, 31]))
    if not s.nodes:
        raise Skipped("no node")
    sets = input_sets(s)
    calibrate(s, sets)
    return Case(seed, to_model(s, s.nodes, s.constants, [(leaf, TensorProto.FLOAT, None) for leaf in structure.live(s)[-3:]]), sets)


def prune(nodes, outputs):
    wanted = set(outputs)
    kept = []
    for node in reversed(nodes):
        if wanted & set(node.outputs):
            kept.append(node)
            wanted.update(name for name in node.inputs if name)
    return kept[::-1], wanted


def generate(seed):
    return generate_by(np.random.default_rng([seed, 20]), seed)


def generate_by(random, seed, versions=structure.VERSIONS, largest=1e5, adjust=lambda annotator: None):
    """`largest`: how large numbers may get; `adjust`: what another kind of graph draws otherwise."""
    s = structure.draw_structure(random, versions)
    if not s.nodes:
        raise Skipped("no node")
    sets = input_sets(s)
    ranges = calibrate(s, sets, largest)
    annotator = Annotator(s, ranges)
    adjust(annotator)
    if s.chance(0.08):
        annotator.nodes = list(s.nodes)  # float
    else:
        annotator.annotate()
    leaves = structure.live(s)
    between = [v for n in s.nodes for v in n.outputs if v and v not in leaves and v not in s.integers and v not in s.inside]
    if between and s.chance(0.3):
        leaves.append(between[random.integers(len(between))])
    if len(leaves) > 3:
        leaves = [leaves[-1]] + [str(v) for v in random.choice(leaves[:-1], 2, replace=False)]
    outputs = {}
    for leaf in leaves:
        name, kind = annotator.output(leaf)
        outputs.setdefault(name, (name, kind, s.declared(leaf) if s.chance(0.5) else None))
    nodes, used = prune(annotator.nodes, outputs)
    s.inputs = [name for name in s.inputs if name in used]
    if not s.inputs:
        raise Skipped("no input is used")
    sets = [{name: x[name] for name in s.inputs} for x in sets]
    return Case(seed, to_model(s, nodes, annotator.constants, list(outputs.values())), sets)
