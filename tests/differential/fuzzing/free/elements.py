# SPDX-License-Identifier: Apache-2.0
"""Functions of elements in every type, broadcast between ranks 0 to 5."""
import numpy as np
from onnx import helper

from ..sketch import Impossible

UNARY = ["Abs", "Neg", "Sign", "Exp", "Erf", "Floor", "Ceil", "Round", "Sin", "Cos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Relu",
         "LeakyRelu", "Elu", "Selu", "ThresholdedRelu", "Shrink", "Sigmoid", "HardSigmoid", "Softplus", "Softsign", "Identity",
         "Tan", "Reciprocal", "Sqrt", "Log", "Acosh", "Atanh", "Asin", "Acos"]
LATER = {12: ["Celu"], 14: ["HardSwish"], 18: ["Mish"], 20: ["Gelu"], 24: ["Swish"]}


def is_near_whole(array):
    with np.errstate(invalid="ignore"):  # infinities are not
        return np.abs(array - np.round(array)) < 1e-5


def unary(s, x):
    s.need(x, "fdh", filled=False)
    ops = UNARY + [op for since, more in LATER.items() if s.opset >= since for op in more]
    op = s.choose(*ops)
    attributes = {}
    if op in ("LeakyRelu", "Elu", "Celu", "ThresholdedRelu", "HardSigmoid", "Swish") and s.chance(0.6):
        attributes["alpha"] = float(s.choose(0.1, 0.3, 1.0, 1.7))
    if op == "Shrink":
        attributes = {"lambd": float(s.choose(0.2, 0.5)), "bias": float(s.choose(0, 0.3))}
    if op == "Gelu" and s.chance(0.5):
        attributes["approximate"] = "tanh"
    array = s.array(x)
    jump = attributes.get("lambd", attributes.get("alpha", 1.0)) if op in ("Shrink", "ThresholdedRelu") else None
    if jump is not None and (np.abs(np.abs(array) - jump) < 1e-5).any():
        raise Impossible("numbers where the function jumps")
    if op in ("Floor", "Ceil", "Sign") and s.fades() and (s.opens or is_near_whole(array).any()):
        raise Impossible("a step where something faded")
    if op in ("Sqrt", "Log"):
        x = s.play("Add", [s.play("Abs", [x]), s.constant(array.dtype.type(0.3))])
    elif op == "Reciprocal":
        x = s.play("Add", [s.play("Abs", [x]), s.constant(array.dtype.type(0.5))])
    elif op == "Acosh":
        x = s.play("Add", [s.play("Abs", [x]), s.constant(array.dtype.type(1.5))])
    elif op in ("Asin", "Acos", "Atanh", "Tan"):
        x = s.play("Mul", [s.play("Tanh", [x]), s.constant(array.dtype.type(0.9))])
    return s.play(op, [x], **attributes)


def spread_shape(s, shape):
    """A shape that broadcasts with that one: axes of 1, fewer axes, more axes."""
    shape = list(shape)
    if s.chance(0.15):
        return ()
    if s.chance(0.2) and len(shape) < 5:
        shape = [s.choose(1, 2, 3)] + shape
    if s.chance(0.4):
        shape = shape[s.integer(0, len(shape)):]
    # An axis of 0 that is 1 for other sizes of an input would become 0 there too, which Concat of ONNX Runtime does not see.
    return tuple(1 if s.chance(0.3) or d == 0 else (s.choose(1, 2, 3) if d == 1 and s.chance(0.3) else d) for d in shape)


def operand(s, x, constant_only=False, positive=False):
    """A value or constant of x's type that broadcasts with it."""
    array = s.array(x)

    def fits(y):
        try:
            return y.dtype == array.dtype and len(np.broadcast_shapes(y.shape, array.shape)) < 6
        except ValueError:
            return False
    if not constant_only and s.chance(0.6):
        other = s.another(fits, None if s.chance(0.2) else x)
        if other is not None:
            return other
    shape = spread_shape(s, array.shape)
    if array.dtype.kind == "f":
        values = s.random.standard_normal(shape)
        values = np.sign(values + 1e-9) * (0.5 + np.abs(values))
        return s.constant((np.abs(values) if positive else values).astype(array.dtype))
    if array.dtype.kind == "b":
        return s.constant(s.random.random(shape) < 0.5)
    low = 1 if positive else (0 if array.dtype.kind == "u" else -4)
    return s.constant(s.random.integers(low, 9, shape).astype(array.dtype))


def binary(s, x):
    array = s.need(x, "fdhiu", filled=False)
    ops = ["Add", "Sub", "Mul", "Div", "Max", "Min", "Mod", "Pow"]
    op = s.choose(*ops)
    if op in ("Max", "Min") and s.opset < 12 and array.dtype.char not in "fd":
        raise Impossible("version")
    if op == "Pow":
        if array.dtype.kind == "f":
            base = s.play("Add", [s.play("Abs", [x]), s.constant(array.dtype.type(0.3))])
            exponent = s.choose(0.5, 2, 3, -1, 1.3)
            if s.chance(0.4) and exponent in (2, 3):
                base = x
            if s.chance(0.3):
                return s.play("Pow", [base, operand(s, base, constant_only=True)])
            return s.play("Pow", [base, s.constant(array.dtype.type(exponent))])
        if array.dtype not in (np.int32, np.int64) or s.extreme:  # ONNX Runtime computes it in double
            raise Impossible("type")
        if s.depth or np.abs(array.astype(np.float64)).max(initial=0) > 500:  # what a loop carries grows from turn to turn
            raise Impossible("it may overflow")
        return s.play("Pow", [x, s.constant(array.dtype.type(s.choose(0, 1, 2, 3)))])
    if op == "Mod":
        attributes = {"fmod": 1} if array.dtype.kind == "f" or (s.chance(0.4) and not s.extreme) else {}
        if array.dtype.kind == "f" and not s.chance(0.2):
            raise Impossible("rarely")
        return s.play("Mod", [x, operand(s, x, constant_only=True, positive=array.dtype.kind != "f")], **attributes)
    if op == "Div":
        return s.play("Div", [x, operand(s, x, constant_only=True, positive=array.dtype.kind != "f")])
    operands = [x, operand(s, x)]
    if op in ("Max", "Min") and s.chance(0.3):
        operands.append(operand(s, x))
    if op in ("Max", "Min") and s.may_be_long(*operands):
        raise Impossible("ONNX Runtime compares halves")
    return s.play(op, operands[::s.choose(1, -1)])


def variadic(s, x):
    s.need(x, "fdh", filled=False)
    return s.play(s.choose("Sum", "Mean", "Max", "Min"), [x] + [operand(s, x) for _ in range(s.choose(0, 1, 2, 3))])


def compare(s, x):
    array = s.need(x, "fdhiub", filled=False)
    if array.dtype.kind == "b":
        return s.play(s.choose("Equal", "And", "Or", "Xor"), [x, operand(s, x)])
    op = s.choose("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
    if op in ("LessOrEqual", "GreaterOrEqual") and s.opset < 12:
        raise Impossible("version")
    # Of numbers that rounding alone tells apart nothing follows.
    return s.play(op, [x, operand(s, x, constant_only=array.dtype.kind == "f")])


def logic(s, x):
    array = s.array(x)
    if array.dtype.kind == "b":
        return s.play("Not", [x])
    if array.dtype.char in "fd" and s.chance(0.5):
        return s.play("IsNaN", [x]) if s.chance(0.5) else s.play("IsInf", [x])
    if array.dtype.kind == "u" and s.chance(0.5):
        shift = s.constant(s.random.integers(0, array.dtype.itemsize * 8, s.choose((), array.shape)).astype(array.dtype))
        return s.play("BitShift", [x, shift], direction=s.choose("LEFT", "RIGHT"))
    if array.dtype.kind in "iu" and s.opset >= 18:
        op = s.choose("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
        return s.play(op, [x] if op == "BitwiseNot" else [x, operand(s, x)])
    raise Impossible("type")


def where(s, x):
    array = s.array(x)
    condition = s.another(lambda y: y.dtype == bool and fits_together(y, array))
    if condition is None or s.chance(0.3):
        condition = s.constant(s.random.random(spread_shape(s, array.shape)) < 0.5)
    return s.play("Where", [condition, *[x, operand(s, x)][::s.choose(1, -1)]])


def fits_together(a, b):
    try:
        return len(np.broadcast_shapes(a.shape, b.shape)) < 6
    except ValueError:
        return False


def cast(s, x):
    to = s.choose(np.float32, np.float32, np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8, np.int8, np.bool_)
    return cast_to(s, x, np.dtype(to))


def cast_to(s, x, to):
    """As a type, by way of a range that the type has."""
    array = s.array(x)
    if array.dtype.kind == "f" and to.kind == "b":
        raise Impossible("what underflows is not told from what does not")
    if array.dtype.kind == "f" and to.kind in "iu":
        if s.nonfinite:
            raise Impossible("undefined")
        if s.opset < 12 and array.dtype.char not in "fd":
            raise Impossible("not clipped, and so undefined at other inputs")
        if s.fades() and (s.opens or (is_near_whole(array) & (np.abs(array) > 0.5)).any()):
            raise Impossible("how near 1 a function ends tells which number it is cut to")
        low, high = (0, 200) if to.kind == "u" else (-100, 100)
        x = s.play("Min", [x, s.constant(array.dtype.type(high))])
        x = s.play("Max", [x, s.constant(array.dtype.type(low))])
        if not (s.array(x) >= low).all() or not (s.array(x) <= high).all():
            raise Impossible("undefined")
    if s.opset >= 15 and s.chance(0.2):
        return s.play("CastLike", [x, s.constant(np.zeros((), to))])
    return s.play("Cast", [x], to=int(helper.np_dtype_to_tensor_dtype(to)))


def clip(s, x):
    array = s.need(x, "fdhiu", filled=False)
    if s.opset < 12 and array.dtype.char != "f":
        raise Impossible("version")
    if s.may_be_long(x):
        raise Impossible("ONNX Runtime compares halves")
    low, high = sorted(int(v) for v in s.random.integers(0 if array.dtype.kind == "u" else -3, 4, 2))
    inputs = [x, s.constant(array.dtype.type(low)) if s.nonfinite or s.chance(0.7) else ""]
    if s.nonfinite or s.chance(0.7):
        inputs.append(s.constant(array.dtype.type(high)))
    return s.play("Clip", inputs)


def prelu(s, x):
    array = s.need(x, "fd")
    shape = tuple(1 if s.chance(0.3) else d for d in array.shape[1 if s.opens else s.integer(0, array.ndim):])
    if s.opens == "all":
        raise Impossible("an open size against one that is not")
    return s.play("PRelu", [x, s.numbers(shape, array.dtype, 0.3)])


MAKERS = {"unary": (unary, 3), "binary": (binary, 4), "variadic": (variadic, 0.6), "compare": (compare, 1), "logic": (logic, 0.8),
          "where": (where, 0.8), "cast": (cast, 1.5), "clip": (clip, 0.6), "prelu": (prelu, 0.3)}
