# SPDX-License-Identifier: Apache-2.0
"""The rows of tools/algorithms: one line for each algorithm, with what octet is told and which functions of others do the
same. A row is judged on each of its networks; `beside` names the row that does all but this algorithm."""
import dataclasses

IMAGES, TEXTS = ("cnn", "depthwise"), ("bert-mini", "minilm", "minilm-short")
ALL = IMAGES + TEXTS
WINDOWS = IMAGES + ("uneven",)
TWO_BITS = IMAGES + ("bert-mini",)
FEW = "--calibrator min-max --weight-bits 4"
WHOLE = "--calibrator min-max --per-tensor"


@dataclasses.dataclass
class Row:
    """`peers`: (what it is called in the table, a function of peers.py, its settings)."""
    name: str
    networks: tuple
    octet: str
    peers: list
    beside: str = ""


def ort(label, **settings):
    return (f"onnxruntime {label}", "onnxruntime_static", settings)


def nncf(label, **settings):
    return (f"NNCF {label}", "nncf_quantize", settings)


def aimet(label, **settings):
    return (f"AIMET {label}", "aimet_simulate", settings)


MIN_MAX = [ort("MinMax", method="MinMax"), nncf("min-max", ranges="MINMAX", correct=None), aimet("min_max")]
THREE, TWO = (f"--calibrator min-max --weight-bits {bits}" for bits in (3, 2))
MIN_MAX_4 = [aimet("min_max", bits=4)]
ADAROUND_4 = [aimet("AdaRound", bits=4, adaround=2000)]

ROWS = [
    # 8 bits, a scale for each output channel: how ranges of activations are found.
    Row("min-max", WINDOWS + TEXTS, "--calibrator min-max", MIN_MAX),
    Row("entropy", ALL, "--calibrator entropy", [ort("Entropy", method="Entropy"), ort("Entropy, 2048 bins", method="Entropy", bins=2048)], "min-max"),
    Row("percentile 99.99", ALL, "--calibrator percentile:99.99",
        [ort("Percentile", method="Percentile", percentile=99.99), nncf("quantiles", ranges="MEAN_QUANTILE", correct=None)],
        "min-max"),
    Row("mse", ALL, "--calibrator mse", [aimet("tf_enhanced", scheme="tf_enhanced"),
                                         nncf("histogram", ranges="HISTOGRAM", correct=None)], "min-max"),
    Row("auto", WINDOWS + TEXTS, "", [nncf("defaults"), ort("defaults", method="MinMax", per_channel=False)], "min-max"),
    Row("dynamic", ALL, "--mode dynamic", [("onnxruntime dynamic", "onnxruntime_dynamic", {})], "min-max"),
    # What else is done about 8 bits.
    Row("correct-bias", ALL, "--calibrator min-max --steps correct-bias",
        [nncf("fast bias correction", ranges="MINMAX", correct="fast"), nncf("bias correction", ranges="MINMAX", correct="full")],
        "min-max"),
    Row("smooth", ALL, "--calibrator min-max --steps smooth",
        [nncf("SmoothQuant", ranges="MINMAX", correct=None, smooth=True)], "min-max"),
    Row("outliers", TEXTS, "--calibrator min-max --steps outliers", [], "min-max"),
    Row("equalize", WINDOWS, "--calibrator min-max --steps equalize", [aimet("CLE", equalize=True)], "min-max"),
    # 8 bits, one scale for a weight.
    Row("per-tensor", WINDOWS, WHOLE, [ort("MinMax", method="MinMax", per_channel=False), aimet("min_max", per_channel=False)]),
    Row("per-tensor, equalize", WINDOWS, f"{WHOLE} --steps equalize", [aimet("CLE", per_channel=False, equalize=True)], "per-tensor"),
    Row("per-tensor, equalize, adaround, correct-bias", WINDOWS, f"{WHOLE} --steps equalize,adaround,correct-bias",
        [aimet("CLE, AdaRound", per_channel=False, equalize=True, adaround=2000)], "per-tensor"),
    # 4 bits of weights.
    Row("4 bits", ALL, FEW, MIN_MAX_4),
    Row("4 bits, clipped weights", ALL, f"{FEW} --weight-calibrator mse", [aimet("tf_enhanced", bits=4, scheme="tf_enhanced")], "4 bits"),
    Row("4 bits, clipped weights, mse:3", ALL, f"{FEW} --weight-calibrator mse:3", [aimet("tf_enhanced", bits=4, scheme="tf_enhanced")], "4 bits"),
    Row("4 bits, correct-bias", ALL, f"{FEW} --steps correct-bias", MIN_MAX_4, "4 bits"),
    Row("4 bits, seq-mse", ALL, f"{FEW} --steps seq-mse", [aimet("sequential MSE", bits=4, sequential=True)], "4 bits"),
    Row("4 bits, adaround", ALL, f"{FEW} --steps adaround", ADAROUND_4, "4 bits"),
    Row("4 bits, gptq", ALL, f"{FEW} --steps gptq", ADAROUND_4, "4 bits"),
    Row("4 bits, clipped weights, adaround, correct-bias", ALL, f"{FEW} --weight-calibrator mse --steps adaround,correct-bias",
        [aimet("tf_enhanced, AdaRound", bits=4, scheme="tf_enhanced", adaround=2000)], "4 bits"),
    Row("4 bits, reconstruct", ALL, f"{FEW} --steps reconstruct", ADAROUND_4, "4 bits, adaround"),
    # 3 and 2 bits of weights, which AIMET does not export.
    Row("3 bits", ALL, THREE, []),
    Row("3 bits, gptq", ALL, f"{THREE} --steps gptq", [], "3 bits"),
    Row("3 bits, adaround", ALL, f"{THREE} --steps adaround", [], "3 bits"),
    Row("3 bits, reconstruct", ALL, f"{THREE} --steps reconstruct", [], "3 bits, adaround"),
    Row("3 bits, adaround, correct-bias", IMAGES, f"{THREE} --steps adaround,correct-bias", [], "3 bits"),
    Row("3 bits, reconstruct, correct-bias", IMAGES, f"{THREE} --steps reconstruct,correct-bias", [], "3 bits, adaround, correct-bias"),
    Row("2 bits", TWO_BITS, TWO, []),
    Row("2 bits, seq-mse, adaround", TWO_BITS, f"{TWO} --steps seq-mse,adaround", [], "2 bits"),
    Row("2 bits, seq-mse, reconstruct", TWO_BITS, f"{TWO} --steps seq-mse,reconstruct", [], "2 bits, seq-mse, adaround"),
    # Weights alone, in blocks of 32.
    Row("int4/32", TEXTS, "--mode weight-only --weights int4/32",
        [("onnxruntime blocks", "onnxruntime_blocks", {}), ("NNCF compress_weights", "nncf_compress", {})]),
]
