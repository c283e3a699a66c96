# SPDX-License-Identifier: Apache-2.0
"""ai.onnx.ml: trees, linear models, features."""
import numpy as np

from ..sketch import Impossible

ML = "ai.onnx.ml"


def floats(s, count):
    return [float(v) for v in s.random.standard_normal(count).astype(np.float32)]


def rows(s, x):
    """Of as many features as coefficients are drawn for: ONNX Runtime does not count them."""
    if s.opens:  # the first extent may have become the last
        raise Impossible("open features")
    return s.need(x, "f", ranks=(2,))


def features(s, x):
    """Rows, on a grid, so that a threshold is not met by half."""
    array = rows(s, x)
    rounded = s.play("Round", [s.play("Mul", [x, s.constant(np.float32(4))])])
    return s.play("Add", [rounded, s.constant(np.float32(0.25))]), array.shape[1]


def trees(s, x):
    x, width = features(s, x)
    mode = s.choose("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")
    nodes = {f"nodes_{k}": [] for k in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")}
    leaves = []
    for tree in range(s.choose(1, 2, 4)):
        depth = s.choose(1, 2, 3)
        count = 2 ** (depth + 1) - 1
        for node in range(count):
            leaf = 2 * node + 1 >= count
            row = (tree, node, s.integer(0, width - 1), "LEAF" if leaf else mode, float(s.integer(-4, 4)), 0 if leaf else 2 * node + 1,
                   0 if leaf else 2 * node + 2)
            for values, value in zip(nodes.values(), row):
                values.append(value)
            if leaf:
                leaves.append((tree, node))
    classes = s.choose(1, 3)
    classify = s.chance(0.4)
    prefix = "class" if classify else "target"
    votes = {f"{prefix}_treeids": [t for t, _ in leaves], f"{prefix}_nodeids": [n for _, n in leaves],
             f"{prefix}_ids": [s.integer(0, classes - 1) for _ in leaves], f"{prefix}_weights": floats(s, len(leaves))}
    if classify:
        return s.play("TreeEnsembleClassifier", [x], 2, domain=ML, classlabels_int64s=[4, 2, 7], **nodes, **votes)[1]
    more = {"aggregate_function": s.choose("SUM", "AVERAGE", "MIN", "MAX")}
    if s.chance(0.3) and classes == 1:  # ONNX Runtime adds them where a leaf has voted
        more["base_values"] = floats(s, classes)
    return s.play("TreeEnsembleRegressor", [x], domain=ML, n_targets=classes, **more, **nodes, **votes)


def linear(s, x):
    array = rows(s, x)
    width, out = array.shape[1], s.choose(1, 2, 3)
    transform = s.choose("NONE", "NONE", "LOGISTIC", "SOFTMAX")
    if s.chance(0.5):
        return s.play("LinearRegressor", [x], domain=ML, coefficients=floats(s, width * out), intercepts=floats(s, out), targets=out)
    if out == 1:
        raise Impossible("one class")
    return s.play("LinearClassifier", [x], 2, domain=ML, coefficients=floats(s, width * out), intercepts=floats(s, out),
                  classlabels_ints=list(range(out)), post_transform=transform)[1]


def support_vectors(s, x):
    array = rows(s, x)
    width, count = array.shape[1], 3
    kernel = s.choose("LINEAR", "RBF", "SIGMOID")
    return s.play("SVMRegressor", [x], domain=ML, kernel_type=kernel, kernel_params=[0.1, 0.2, 2.0], n_supports=count,
                  coefficients=floats(s, count), support_vectors=floats(s, count * width), rho=[0.3])


def feature(s, x):
    array = rows(s, x)
    width = array.shape[1]
    op = s.choose("Scaler", "Normalizer", "Binarizer", "Imputer", "ArrayFeatureExtractor", "FeatureVectorizer")
    if op == "Scaler":
        n = s.choose(1, width)
        return s.play(op, [x], domain=ML, offset=floats(s, n), scale=floats(s, n))
    if op == "Normalizer":
        if s.fades() and (np.abs(array).max(axis=1) < 1e-5).any():
            raise Impossible("a share of what faded")
        return s.play(op, [x], domain=ML, norm=s.choose("MAX", "L1", "L2"))
    if op == "Binarizer":
        return s.play(op, [x], domain=ML, threshold=0.3)
    if op == "Imputer":
        return s.play(op, [x], domain=ML, imputed_value_floats=floats(s, s.choose(1, width)), replaced_value_float=0.0)
    if op == "ArrayFeatureExtractor":
        return s.play(op, [x, s.ints(s.random.integers(0, width, 3))], domain=ML)
    other = s.another(lambda y: y.dtype == array.dtype and y.ndim == 2 and y.shape[0] == array.shape[0]) or x
    return s.play(op, [x, other], domain=ML, inputdimensions=[width, s.shape(other)[1]])


def labels(s, x):
    s.need(x, "i", ranks=(1, 2))
    if s.type(x) != np.int64:
        raise Impossible("type")
    if s.chance(0.5):
        return s.play("OneHotEncoder", [x], domain=ML, cats_int64s=[0, 1, 2, 5], zeros=1)
    return s.play("LabelEncoder", [x], domain=ML, keys_int64s=[0, 1, 2], values_floats=[0.5, -1.0, 2.0], default_float=0.25)


MAKERS = {"trees": (trees, 0.6), "linear": (linear, 0.4), "support_vectors": (support_vectors, 0.2), "feature": (feature, 0.5),
          "labels": (labels, 0.4)}
