# SPDX-License-Identifier: Apache-2.0
"""The operators of ai.onnx.ml against ONNX Runtime, on models of one node each: labels equal, numbers within 1e-5 of
their size."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
ML = "ai.onnx.ml"
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
rng = np.random.default_rng(11)


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32)


def floats(count):
    return [float(v) for v in f32(count)]


def tensor(values, dtype):
    return numpy_helper.from_array(np.array(values, dtype))


def random_trees(count, depth, features, modes=("BRANCH_LEQ",)):
    """Trees of random shape, their leaves, and lists of nodes_*."""
    lists = {k: [] for k in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
                             "missing_value_tracks_true")}
    leaves = []
    for tree in range(count):
        pending, node_count = [(0, 0)], 1
        rows = {}
        while pending:
            node, level = pending.pop()
            leaf = level == depth or (level > 0 and rng.random() < 0.3)
            yes, no = (0, 0) if leaf else (node_count, node_count + 1)
            if not leaf:
                node_count += 2
                pending += [(yes, level + 1), (no, level + 1)]
            else:
                leaves.append((tree, node))
            mode = "LEAF" if leaf else modes[rng.integers(len(modes))]
            rows[node] = (tree, node, int(rng.integers(features)), mode, round(float(rng.normal()), 1), yes, no,
                          int(rng.integers(2)))
        for node in sorted(rows):
            for name, value in zip(lists, rows[node]):
                lists[name].append(value)
    return leaves, {f"nodes_{k}": v for k, v in lists.items()}


def votes(prefix, leaves, choices, each, positive):
    """`each` votes at a leaf, of the targets `choices`."""
    chosen = [(t, n, int(c)) for t, n in leaves for c in rng.permutation(choices)[:each]]
    weights = f32(len(chosen))
    return {f"{prefix}_treeids": [v[0] for v in chosen], f"{prefix}_nodeids": [v[1] for v in chosen],
            f"{prefix}_ids": [v[2] for v in chosen],
            f"{prefix}_weights": [float(v) for v in (np.abs(weights) if positive else weights)]}


def features(dtype=np.float32):
    x = np.round(rng.normal(size=(20, 5)) * 2, 1).astype(dtype)
    if dtype in (np.float32, np.float64):
        x[3, 1] = x[7, 0] = np.nan
    return x


def tree_cases():
    every = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    for dtype in (np.float32, np.float64, np.int64, np.int32):
        leaves, nodes = random_trees(4, 4, 5, every if dtype == np.float32 else ("BRANCH_LEQ",))
        # ONNX Runtime has regressors of floats alone.
        for aggregate in ("SUM", "AVERAGE", "MIN", "MAX") if dtype in (np.float32, np.float64) else ():
            yield "TreeEnsembleRegressor", {**nodes, **votes("target", leaves, 1, 1, False), "n_targets": 1,
                                            "aggregate_function": aggregate, "base_values": [0.25]}, [features(dtype)]
            yield "TreeEnsembleRegressor", {**nodes, **votes("target", leaves, 3, 2, False), "n_targets": 3,
                                            "aggregate_function": aggregate}, [features(dtype)]
        labels = {"classlabels_int64s": [7, 3, 5]}
        yield "TreeEnsembleClassifier", {**nodes, **votes("class", leaves, 3, 2, False), **labels}, [features(dtype)]
    leaves, nodes = random_trees(5, 3, 5)
    for transform in TRANSFORMS:
        more = {**nodes, "post_transform": transform}
        yield "TreeEnsembleRegressor", {**more, **votes("target", leaves, 3, 3, False), "n_targets": 3,
                                        "base_values": [0.1, 0.2, 0.3]}, [features()]
        yield "TreeEnsembleRegressor", {**more, **votes("target", leaves, 1, 1, False), "n_targets": 1}, [features()]
        for base in ({}, {"base_values": [0.1, 0.2, -0.3]}):
            yield "TreeEnsembleClassifier", {**more, **votes("class", leaves, 3, 2, False), **base,
                                             "classlabels_strings": ["a", "b", "c"]}, [features()]
        for positive in (True, False):
            for only in ([0], [1]):
                for base in ({}, {"base_values": [0.3]}, {"base_values": [0.3, 0.2]}):
                    yield "TreeEnsembleClassifier", {**more, **votes("class", leaves, only, 1, positive), **base,
                                                     "classlabels_int64s": [7, 9]}, [features()]


def tree5_cases():
    x = features()
    nodes = {"nodes_featureids": [0, 1, 2], "nodes_modes": tensor([0, 6, 3], np.uint8),
             "nodes_splits": tensor([0.5, 0, -0.2], np.float32), "nodes_truenodeids": [1, 0, 3],
             "nodes_trueleafs": [0, 1, 1], "nodes_falsenodeids": [2, 1, 2], "nodes_falseleafs": [0, 1, 1],
             "leaf_targetids": [0, 1, 0, 1], "leaf_weights": tensor([0.5, -1.5, 2, 0.25], np.float32),
             "membership_values": tensor([1, 2, 5, np.nan], np.float32), "tree_roots": [0], "n_targets": 2}
    x[:, 1] = rng.integers(0, 7, size=len(x))  # ONNX Runtime has sets of integers alone
    for transform in (0, 3):  # ONNX Runtime has 1 and 2 the other way round
        yield "TreeEnsemble", {**nodes, "post_transform": transform, "version": 5}, [x]
    for aggregate in range(4):
        yield "TreeEnsemble", {**nodes, "aggregate_function": aggregate, "version": 5}, [x]


def linear_cases():
    for transform in TRANSFORMS:
        more = {"post_transform": transform}
        whole = rng.integers(-3, 4, size=(4, 3))
        for x in (f32(4, 3), f32(3), whole, whole.astype(np.int32)):
            yield "LinearClassifier", {**more, "coefficients": floats(3), "intercepts": [0.1],
                                       "classlabels_ints": [7, 9]}, [x]
            yield "LinearClassifier", {**more, "coefficients": floats(6), "intercepts": floats(2),
                                       "classlabels_strings": ["p", "q"]}, [x]
            yield "LinearClassifier", {**more, "coefficients": floats(9), "intercepts": floats(3),
                                       "classlabels_ints": [7, 9, 2]}, [x]
        yield "LinearRegressor", {**more, "coefficients": floats(3), "intercepts": [0.1]}, [f32(4, 3)]
        yield "LinearRegressor", {**more, "coefficients": floats(6), "targets": 2}, [f32(4, 3)]


def vector_cases():
    x = f32(6, 3)
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        vectors = {"kernel_type": kernel, "kernel_params": [0.4, 0.2, 3], "support_vectors": floats(15)}
        yield "SVMRegressor", {**vectors, "coefficients": floats(5), "n_supports": 5, "rho": [0.1]}, [x]
        yield "SVMRegressor", {**vectors, "coefficients": floats(5), "n_supports": 5, "rho": [0.1], "one_class": 1}, [x]
        for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
            more = {**vectors, "post_transform": transform}
            for odds in ({}, {"prob_a": [-1.5], "prob_b": [0.2]}):
                yield "SVMClassifier", {**more, **odds, "coefficients": floats(5), "vectors_per_class": [2, 3],
                                        "rho": [0.1], "classlabels_ints": [7, 9]}, [x]
            for odds in ({}, {"prob_a": [-1.5, -1, -2], "prob_b": [0.2, 0.1, 0]}):
                yield "SVMClassifier", {**more, **odds, "coefficients": floats(10), "vectors_per_class": [2, 1, 2],
                                        "rho": [0.1, 0.2, -0.1], "classlabels_strings": ["a", "b", "c"]}, [x]
    flat = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0, 0], "rho": [0.1]}
    yield "SVMRegressor", {**flat, "coefficients": floats(3)}, [x]
    yield "SVMClassifier", {**flat, "coefficients": floats(6), "classlabels_ints": [7, 9]}, [x]
    yield "SVMClassifier", {**flat, "coefficients": [abs(v) for v in floats(6)], "classlabels_ints": [7, 9]}, [x]
    yield "SVMClassifier", {**flat, "coefficients": floats(9), "classlabels_ints": [7, 9, 4]}, [x]


def feature_cases():
    whole = np.array([[1, -2, 0], [3, 4, 5]], np.int64)
    for x in (whole, f32(2, 3), whole[0].copy(), f32(2, 3).astype(np.float64)):
        yield "Scaler", {"offset": [1.0, 2, 3], "scale": [0.5, 2, 1]}, [x]
        yield "Scaler", {"offset": [1.0], "scale": [0.5]}, [x]
        yield "ArrayFeatureExtractor", {}, [x, np.array([[2, 0]], np.int64)]
        for norm in ("MAX", "L1", "L2"):
            yield "Normalizer", {"norm": norm}, [x]
    yield "Binarizer", {"threshold": 0.5}, [f32(2, 3)]
    yield "Normalizer", {"norm": "L2"}, [np.zeros((2, 3), np.float32)]
    yield "OneHotEncoder", {"cats_int64s": [1, 4, -2]}, [whole]
    yield "OneHotEncoder", {"cats_int64s": [1, 4, -2]}, [np.array([1.5, 4, -2.7], np.float32)]
    holes = np.array([[1, np.nan, 3], [np.nan, 2, np.nan]], np.float32)
    yield "Imputer", {"imputed_value_floats": [7.0, 8, 9], "replaced_value_float": float("nan")}, [holes]
    yield "Imputer", {"imputed_value_floats": [7.0]}, [np.array([[1, 0, 3]], np.float32)]
    yield "Imputer", {"imputed_value_int64s": [7], "replaced_value_int64": -2}, [whole]
    yield "FeatureVectorizer", {"inputdimensions": [2, 1]}, [f32(2, 2), f32(2, 1)]
    yield "FeatureVectorizer", {"inputdimensions": [1, 2]}, [whole[:, :2].copy(), whole[:, 2:].copy()]
    yield "LabelEncoder", {"keys_floats": [1.0, 2.5], "values_int64s": [5, 6], "version": 2}, [
        np.array([1, 2.5, 3], np.float32)]
    yield "LabelEncoder", {"keys_int64s": [1, 1], "values_floats": [5.0, 6], "default_float": 0.5, "version": 2}, [
        whole]
    yield "LabelEncoder", {"keys_tensor": tensor([1, 7], np.int64), "values_tensor": tensor([0.5, 1.5], np.float64),
                           "default_tensor": tensor([9], np.float64), "version": 4}, [whole]


def model_of(op, attributes, inputs):
    attributes = {"version": 1, **attributes}
    version = attributes.pop("version")
    outputs = 2 if op.endswith("Classifier") else 1
    node = helper.make_node(op, [f"i{k}" for k in range(len(inputs))], [f"o{k}" for k in range(outputs)], domain=ML,
                            **attributes)
    fed = [helper.make_tensor_value_info(f"i{k}", helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
           for k, v in enumerate(inputs)]
    made = [helper.make_value_info(f"o{k}", onnx.TypeProto()) for k in range(outputs)]
    return helper.make_model(helper.make_graph([node], op, fed, made), ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(ML, version)])


def differences(model, inputs, folder):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {f"i{k}": v for k, v in enumerate(inputs)}
    want = session.run(None, feeds)
    onnx.save(model, folder / "m.onnx")
    np.savez(folder / "in.npz", **feeds)
    (folder / "out.npz").unlink(missing_ok=True)
    ran = subprocess.run([OCTET, "run", folder / "m.onnx", "--inputs", folder / "in.npz", "-o", folder / "out.npz",
                          "--executor", "reference"], capture_output=True, text=True)
    if ran.returncode != 0:
        return ran.stderr.strip()[-300:]
    got = np.load(folder / "out.npz")
    for k, expected in enumerate(want):
        found = got[f"o{k}"]
        if found.shape != expected.shape or found.dtype != expected.dtype:
            return f"output {k} is {found.dtype}{found.shape} and not {expected.dtype}{expected.shape}"
        if not np.allclose(found, expected, rtol=1e-5, atol=1e-5, equal_nan=True):
            return f"output {k} is {found.tolist()} and not {expected.tolist()}"[:400]
    return ""


def main():
    onnxruntime.set_default_logger_severity(4)
    cases = [*tree_cases(), *tree5_cases(), *linear_cases(), *vector_cases(), *feature_cases()]
    failures = []
    with tempfile.TemporaryDirectory() as name:
        for op, attributes, inputs in cases:
            # octet run writes no text: classes with names become numbers, whose order is the same.
            plain = {("classlabels_ints" if op in ("LinearClassifier", "SVMClassifier") else "classlabels_int64s")
                     if k == "classlabels_strings" else k: list(range(len(v))) if k == "classlabels_strings" else v
                     for k, v in attributes.items()}
            why = differences(model_of(op, plain, inputs), inputs, pathlib.Path(name))
            if why:
                short = {k: v for k, v in plain.items() if not k.startswith(("nodes_", "class_", "target_"))}
                failures.append(f"{op} {short} {inputs[0].dtype}{inputs[0].shape}: {why}")
    print("\n".join(failures))
    print(f"{len(failures)} differences in {len(cases)} cases")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
