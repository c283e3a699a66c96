# SPDX-License-Identifier: Apache-2.0
"""Pools, resizing and sampling in one to three dimensions, signals."""
import numpy as np

from ..sketch import Impossible
from .products import reaches, windows


def pool(s, x):
    array = s.need(x, "fd" if s.chance(0.1) else "f", ranks=(3, 4, 5))
    if s.opens == "all":
        raise Impossible("open planes")
    op = s.choose("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool")
    if op == "LpPool" and s.opens:
        raise Impossible("windows larger than the plane")
    attributes = windows(s, array.shape[2:])
    if "pads" in attributes:
        half = len(attributes["pads"]) // 2
        attributes["pads"] = [min(p, (k - 1) // 2) for p, k in zip(attributes["pads"], attributes["kernel_shape"] * 2)]
        attributes["pads"] = attributes["pads"][:half] + attributes["pads"][half:]
    if "auto_pad" in attributes or (op == "AveragePool" and s.opset < 19) or op == "LpPool":
        del attributes["dilations"]
    if "SAME" in attributes.get("auto_pad", ""):
        if any(st > k for st, k in zip(attributes["strides"], attributes["kernel_shape"])):
            raise Impossible("ONNX Runtime pools with a negative padding")
    if op != "LpPool" and s.chance(0.3) and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and s.chance(0.5):
        attributes["count_include_pad"] = 1
    if op == "AveragePool" and any(d > 1 for d in attributes.get("dilations", [])):
        attributes.pop("pads", None)
        attributes.pop("ceil_mode", None)
    reaches(array.shape[2:], attributes)
    if op == "LpPool":
        attributes["p"] = s.choose(1, 2, 3)
    if op == "MaxPool" and s.chance(0.25) and not s.blends() and not s.fades():
        attributes["storage_order"] = s.choose(0, 1)
        return s.play(op, [x], 2, **attributes)[0]
    return s.play(op, [x], **attributes)


def global_pool(s, x):
    s.need(x, "fd", ranks=(3, 4, 5))
    return s.play(s.choose("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), [x])


def unpool(s, x):
    array = s.need(x, "f", ranks=(4,))
    if min(array.shape[2:]) < 2 or s.opens == "all" or s.blends() or s.fades():
        raise Impossible("the window is larger than the plane")
    made, indices = s.play("MaxPool", [x], 2, kernel_shape=[2, 2], strides=[2, 2])
    return s.play("MaxUnpool", [made, indices], kernel_shape=[2, 2], strides=[2, 2])


def places(size, wanted, coordinates, real):
    """Where the elements of a resized axis lie on the axis, computed in the type `real`."""
    at, size, wanted = np.arange(wanted, dtype=real), real(size), real(wanted)
    scale = wanted / size
    if coordinates == "align_corners":
        return at * (size - 1) / (wanted - 1) if wanted > 1 else at
    return at / scale if coordinates == "asymmetric" else (at + real(0.5)) / scale - real(0.5)


def resize(s, x, kinds="f"):
    array = s.need(x, kinds, ranks=(3, 4, 5))
    mode = s.choose("nearest", "linear", "cubic")
    if mode == "cubic" and array.ndim != 4:
        raise Impossible("rank")
    coordinates = ["half_pixel", "asymmetric", "align_corners"] + (["half_pixel_symmetric"] if s.opset >= 19 else [])
    attributes = {"mode": mode, "coordinate_transformation_mode": s.choose(*coordinates)}
    if mode == "nearest":
        attributes["nearest_mode"] = s.choose("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    if mode != "nearest" and s.opset >= 18 and s.chance(0.3):
        attributes["antialias"] = 1
    roi = s.constant(np.zeros(0, np.float32)) if s.opset < 13 else ""
    sizes = array.shape[2:]
    # Sizes that are given would scale an open batch too, by ratios that lie beside ties in ONNX Runtime's floats.
    if s.chance(0.5) or (s.opens and mode == "nearest"):
        given = attributes["coordinate_transformation_mode"]
        beside = given == "half_pixel_symmetric" and mode == "nearest"  # a tie, where a size is cut off
        fractions = [] if given == "align_corners" or beside else [0.5, 1.5]
        scales = np.array([1, 1, *[s.choose(1, 2, 3, *fractions) for _ in sizes]], np.float32)
        return s.play("Resize", [x, roi, s.constant(scales)], **attributes)
    wanted = [*array.shape[:2], *[s.integer(1, 2 * d) for d in sizes]]
    if mode == "nearest":
        for size, to in zip(sizes, wanted[2:]):
            given = attributes["coordinate_transformation_mode"]
            exact, single = (places(size, to, given, real) for real in (np.float64, np.float32))
            inexact = (exact != single).any() or given == "half_pixel_symmetric"  # which has a quotient more
            if (np.abs(2 * exact - np.round(2 * exact)) < 1e-5).any() and inexact:
                raise Impossible("ONNX Runtime's coordinates fall beside a tie")
    empty = s.constant(np.zeros(0, np.float32)) if s.opset < 13 else ""
    return s.play("Resize", [x, roi, empty, s.ints(wanted)], **attributes)


def sample(s, x):
    array = s.need(x, "f", ranks=(4,))
    if s.opset < 20:
        raise Impossible("version")
    batch = array.shape[0]
    if s.chance(0.4):
        theta = s.numbers((batch, 2, 3), spread=0.6)
        grid = s.play("AffineGrid", [theta, s.ints([batch, 1, 3, 4])], align_corners=int(s.chance(0.5)))
    else:
        grid = s.constant(s.random.uniform(-1.3, 1.3, (batch, 2, 3, 2)).astype(np.float32))
    mode = s.choose("linear", "nearest", "cubic")
    padding = s.choose("zeros", "reflection", *(["border"] if mode != "cubic" else []))
    return s.play("GridSample", [x, grid], mode=mode, padding_mode=padding, align_corners=int(s.chance(0.5)))


def roi_align(s, x):
    array = s.need(x, "f", ranks=(4,))
    if s.opset < 16:
        raise Impossible("version")
    count = s.choose(1, 2, 0)
    rois = np.sort(s.random.uniform(0, 6, (count, 2, 2)), axis=1).reshape(count, 4).astype(np.float32)
    batches = s.random.integers(0, array.shape[0], count)
    return s.play("RoiAlign", [x, s.constant(rois), s.ints(batches)], output_height=2, output_width=3, sampling_ratio=2,
                  mode=s.choose("avg", "max"), coordinate_transformation_mode=s.choose("half_pixel", "output_half_pixel"))


def col2im(s, x):
    array = s.need(x, "f", ranks=(3,))
    if s.opset < 18 or array.shape[1] % 4:
        raise Impossible("version")
    blocks = array.shape[2]
    return s.play("Col2Im", [x, s.ints([2, blocks + 1]), s.ints([2, 2])])


def spectrum(s, x):
    array = s.need(x, "f", ranks=(2, 3))
    if s.opset < 20 or s.nonfinite:
        raise Impossible("version, or infinities in another order")
    if array.ndim == 2 and array.shape[1] >= 4 and s.chance(0.5):
        window = s.choose("HannWindow", "HammingWindow", "BlackmanWindow")
        window = s.play(window, [s.ints(4)], periodic=int(s.chance(0.5)))
        return s.play("STFT", [x, s.ints(2), window, s.ints(4)], onesided=int(s.chance(0.5)))
    signal = s.play("Unsqueeze", [x, s.ints([array.ndim])])
    return s.play("DFT", [signal, "", s.ints(array.ndim - 1)], onesided=int(s.chance(0.5)))


MAKERS = {"pool": (pool, 2), "global_pool": (global_pool, 0.6), "unpool": (unpool, 0.2), "resize": (resize, 0.8), "sample": (sample, 0.3),
          "roi_align": (roi_align, 0.2), "col2im": (col2im, 0.2), "spectrum": (spectrum, 0.3)}
