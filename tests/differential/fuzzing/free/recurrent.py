# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN in all their forms, and DynamicQuantizeLSTM."""
import numpy as np

from ..sketch import Impossible

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(s, x):
    array = s.need(x, "f", ranks=(3,), small=600)
    op = s.choose("LSTM", "GRU", "RNN")
    layout = 0  # ONNX Runtime knows no other
    length, batch, width = array.shape
    direction = s.choose("forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    hidden = s.size(8)
    gates = GATES[op]
    inputs = [x, s.weights((ways, gates * hidden, width), width), s.weights((ways, gates * hidden, hidden), hidden)]
    inputs.append(s.numbers((ways, 2 * gates * hidden)) if s.chance(0.6) else "")
    lengths = ""
    if s.chance(0.4):
        lengths = s.constant(s.random.integers(1, length + 1, batch).astype(np.int32))
    inputs.append(lengths)
    inputs.append(s.numbers((ways, batch, hidden)) if s.chance(0.4) else "")
    if op == "LSTM":
        inputs.append(s.numbers((ways, batch, hidden)) if s.chance(0.4) else "")
        inputs.append(s.numbers((ways, 3 * hidden)) if s.chance(0.3) else "")
    while not inputs[-1]:
        inputs.pop()
    attributes = {"hidden_size": hidden, "direction": direction}
    if layout:
        attributes["layout"] = layout
    if op != "LSTM" and s.chance(0.25):  # ONNX Runtime does not clip what LSTM's last function takes (docs/differential.md)
        attributes["clip"] = float(s.choose(0.5, 1.5))
    if op == "GRU" and s.chance(0.5):
        attributes["linear_before_reset"] = 1
    if op == "RNN" and s.chance(0.4):
        attributes["activations"] = [s.choose("Relu", "Tanh", "Sigmoid") for _ in range(ways)]
    if op == "LSTM" and s.chance(0.15):
        attributes["input_forget"] = 1
    outputs = [1, int(s.chance(0.6))] + ([int(s.chance(0.5))] if op == "LSTM" else [])
    made = s.play(op, inputs, outputs, **attributes)
    if s.chance(0.5):  # [length, ways, batch, hidden] as the next layer reads it
        turned = s.play("Transpose", [made[0]], perm=[0, 2, 1, 3])
        return s.play("Reshape", [turned, s.ints([0, 0, -1])])
    return made[0]


def dynamic_lstm(s, x):
    array = s.need(x, "f", ranks=(3,), small=600)
    if s.blends():
        raise Impossible("means are ties of codes")
    _, batch, width = array.shape
    hidden = s.size(8)
    ways = s.choose(1, 2)
    type_ = s.choose(np.int8, np.uint8)

    def codes(shape):
        return s.constant(s.random.integers(0 if type_ is np.uint8 else -127, 256 if type_ is np.uint8 else 128, shape).astype(type_))

    def parameters():
        zero = 128 if type_ is np.uint8 else 0
        return (s.constant(s.random.uniform(0.002, 0.01, ways).astype(np.float32)), s.constant(np.full(ways, zero, type_)))
    w_scale, w_zero = parameters()
    r_scale, r_zero = parameters()
    inputs = [x, codes((ways, width, 4 * hidden)), codes((ways, hidden, 4 * hidden)),
              s.numbers((ways, 8 * hidden)) if s.chance(0.6) else "", "",
              s.numbers((ways, batch, hidden)) if s.chance(0.4) else "", "", "", w_scale, w_zero, r_scale, r_zero]
    return s.play("DynamicQuantizeLSTM", inputs, 3, domain="com.microsoft", hidden_size=hidden,
                  direction="bidirectional" if ways == 2 else s.choose("forward", "reverse"))[0]


MAKERS = {"recurrent": (recurrent, 1.5), "dynamic_lstm": (dynamic_lstm, 0.3)}
