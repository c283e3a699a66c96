# SPDX-License-Identifier: Apache-2.0
"""Random options of `octet train` and `octet qat`."""
import dataclasses

from .lesson import CLASSES

PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
TARGETS = ("octet", "onnxruntime", "onnxruntime", "tensorrt-10", "tensorrt-11")
CALIBRATORS = ("min-max", "min-max", "mse", "percentile:99.9", "entropy", "moving-average:0.1")


@dataclasses.dataclass
class Recipe:
    command: str  # "train" or "qat"
    words: list  # without files, loss, batch and threads
    loss: list  # words
    batch: int
    precision: str = "f32"
    smoothing: float = 0.0
    freezes: list = dataclasses.field(default_factory=list)
    validates: bool = True
    holds_out: bool = False

    def call(self, model, data, *more):
        return [self.command, model, "--data", data, *self.words, *self.loss, "--batch", self.batch, "--json", *more]


def draw_course(s, r, lesson):
    w = r.words
    w += ["--epochs", s.choose(1, 1, 2, 3)] if s.chance(0.6) else ["--steps", s.choose(1, 2, 5, 9)]
    w += ["--lr", f"{10 ** s.random.uniform(-5, -1):.3g}", "--optimizer", s.choose("sgd", "adam", "adamw")]
    if s.chance(0.6):
        w += ["--schedule", s.choose("constant", "one-cycle", "cosine", "linear")]
    for share, flag, values in ((0.2, "--warmup", (0.1, 0.5, 1)), (0.3, "--weight-decay", (1e-4, 0.01, 0.3)),
                                (0.3, "--clip-norm", (0.01, 1, 1e3)), (0.25, "--accumulate", (2, 3)), (0.7, "--seed", (2, 7, 99)),
                                (0.2, "--checkpoint-steps", (1, 2))):
        if s.chance(share):
            w += [flag, s.choose(*values)]
    if lesson.loss == CLASSES and s.chance(0.2):
        r.smoothing = s.choose(0.1, 0.5)
        w += ["--label-smoothing", r.smoothing]
    if s.chance(0.2):
        floats = [name for name, array in s.constants.items() if array.dtype.kind == "f" and any(name in n.inputs for n in s.nodes)]
        r.freezes = [s.choose(*floats)] if floats else []
        w += ["--freeze", *r.freezes] if floats else []
    if s.chance(0.25):
        r.precision = s.choose("bf16", "bf16", "fp8", "fp8", "fp8") if r.command == "train" else "bf16"
        w += ["--precision", r.precision]
        if r.precision == "fp8":
            for share, flag, values in ((0.4, "--fp8-scaling", ("delayed", "current")), (0.3, "--fp8-history", (1, 3)),
                                        (0.3, "--fp8-margin", (0, 2)), (0.3, "--fp8-amax", ("max", "most-recent"))):
                if s.chance(share):
                    w += [flag, s.choose(*values)]
    if s.chance(0.15):
        r.holds_out = True
        w += ["--validation-split", s.choose(0.35, 0.5)]
        w += ["--patience", s.choose(1, 3)] if s.chance(0.4) else []
    elif s.chance(0.15):
        r.validates = False
        w.append("--no-validation")
    if (r.validates or r.holds_out) and s.chance(0.2):
        w += ["--evaluate-steps", s.choose(1, 2)]
    for share, flag in ((0.1, "--keep-diverged"), (0.1, "--no-checkpoint")):
        if s.chance(share):
            w.append(flag)


def draw_quantization(s, r):
    w = r.words
    products = [n.op for n in s.nodes if n.op in PRODUCTS]
    if s.chance(0.5):
        w += ["--target", s.choose(*TARGETS)]
    if s.chance(0.4):
        w += ["--weight-bits", s.choose(2, 3, 4, 6, 8)]
    elif s.chance(0.2):
        w += ["--weights", s.choose("int8", "uint8", "int8", "uint8", "int4", "fp8-e4m3fn", "float")]
    if s.chance(0.3):
        w += ["--activation-bits", s.choose(2, 4, 6, 8)]
    elif s.chance(0.2):
        w += ["--activations", s.choose("int8", "uint8", "int8", "uint8", "int16", "float")]
    if s.chance(0.6):
        w += ["--calibrator", s.choose(*CALIBRATORS)]
    if s.chance(0.1):
        w += ["--weight-calibrator", s.choose("mse", "mse:3", "percentile:99")]
    for _ in range(s.choose(0, 0, 1, 2)):
        what = (f"weights={s.choose(2, 4, 6, 8)}", f"activations={s.choose(2, 4, 6, 8)}", "per=tensor", "per=channel", "weights=uint8")
        chosen = dict.fromkeys(s.choose(*what) for _ in range(s.choose(1, 2)))
        w += ["--layer", f"{s.choose(*products, *products, 'n1*', '*')}:{','.join(chosen)}"]
    for share, flags in ((0.15, ("--per-tensor",)), (0.2, ("--symmetric", "--asymmetric")), (0.1, ("--softmax",)), (0.1, ("--embeddings",)),
                         (0.35, ("--learned-scales",)), (0.25, ("--learned-clips",)), (0.25, ("--distill",))):
        if s.chance(share):
            w.append(s.choose(*flags))
    if "--learned-scales" in w and s.chance(0.4):
        w += ["--scale-start", "published"]
    if "--learned-clips" in w and s.chance(0.4):
        w += ["--clip-decay", s.choose(0, 0.1)]
    if "--distill" in w and s.chance(0.6):
        w += ["--temperature", s.choose(0.5, 4), "--distill-weight", s.choose(0, 0.3, 1)]
    for flag in ("--freeze-ranges-after", "--freeze-batch-norm-after"):
        if s.chance(0.2):
            w += [flag, s.choose(0, 0.5)]
    if s.chance(0.12) and products:
        w += [s.choose("--exclude", "--include"), s.choose(*products)]


def draw(s, lesson):
    command = "qat" if s.chance(0.45) and not lesson.classes else "train"
    # A file that fixes its batch may need it: where examples touch each other, and for qat.
    batch = s.choose(1, 2, 4, 5, 8, 64)
    if lesson.batch and (command == "qat" or s.chance(0.5)):
        batch = lesson.batch
    default = lesson.loss == CLASSES and s.chance(0.5)
    r = Recipe(command, [], [] if default else ["--loss", lesson.loss], batch)
    draw_course(s, r, lesson)
    if command == "qat":
        draw_quantization(s, r)
    else:
        r.words += ["--classes", lesson.classes] if lesson.classes else []
        r.words += ["--freeze-batch-norm"] if s.chance(0.15) else []
    return r
