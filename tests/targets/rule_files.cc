// SPDX-License-Identifier: Apache-2.0
#include "targets/rule_files.h"

#include <fstream>
#include <span>

#include "targets/bad_files.h"
#include <gtest/gtest.h>

namespace octet::test {

namespace {

constexpr Severity kError = Severity::kError, kWarning = Severity::kWarning;

const RuleFile kTensorRtFiles[] = {
    {"scale-empty", kError, "tensorrt-10", 17,
     "const e: f32[0] = []\nconst n: i8[0] = []\nq = QuantizeLinear(x, e, n) {axis=1}\n"
     "y = DequantizeLinear(q, s, z)"},
    {"scale-shape", kError, "tensorrt-10", 17,
     "input t: f32[M]\nq = QuantizeLinear(x, t, z4) {axis=1}\ny = DequantizeLinear(q, s, z)",
     false},
    {"scale-not-constant", kWarning, "tensorrt-10", 17,
     "input t: f32[]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)", false},
    {"scale-not-constant", kWarning, "tensorrt-10", 17,
     "t = Identity(s)\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)"},
    {"prelu-slope", kError, "tensorrt-10", 17,
     "const slopes: f32[3, 1, 1] = [0.1, 0.2, 0.3]\ny = PRelu(x, slopes)", false},
    {"scale-rank", kError, "tensorrt-10", 21,
     "const t: f32[1, 1, 2] = [1, 2]\nd = DequantizeLinear(w8, t) {axis=0, block_size=2}\n"
     "y = MatMul(x, d)"},
    {"block-dimensions", kError, "tensorrt-10", 21,
     "const t: f32[2, 2] = [1, 2, 3, 4]\nconst n: i8[2, 2] = [0, 0, 0, 0]\n"
     "d = DequantizeLinear(w8, t, n) {axis=0, block_size=2}\ny = MatMul(x, d)",
     false},
    {"block-size", kError, "tensorrt-10", 21,
     "const t: f32[3, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]\n"
     "d = DequantizeLinear(w8, t) {axis=0, block_size=2}\ny = MatMul(x, d)",
     false},
    {"format", kError, "tensorrt-10", 21,
     "const v: i16[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n"
     "const u: i16[] = [5]\nd = DequantizeLinear(v, s, u)\ny = MatMul(x, d)"},
    {"operator-type", kError, "tensorrt-10", 17,
     "const t: f8e4m3fn[] = [0]\nq = QuantizeLinear(x, s, t)\ny = DequantizeLinear(q, s, t)"},
    {"duplicate-quantize", kWarning, "tensorrt-10", 17,
     "q = QuantizeLinear(x, s, z)\na = DequantizeLinear(q, s, z)\np = QuantizeLinear(x, s, z)\n"
     "b = DequantizeLinear(p, s, z)\ny = Add(a, b)"},
    {"stored-int8-weight", kWarning, "tensorrt-8.6", 17,
     "q = QuantizeLinear(x, s, z)\na = DequantizeLinear(q, s, z)\n"
     "b = DequantizeLinear(w8, s4, z4) {axis=1}\ny = MatMul(a, b)"},
    {"unknown-operator", kError, "tensorrt-10", 17, "y = Unheard(x)"},
    {"operator-too-new", kError, "tensorrt-8.5", 20, "y = Gelu(x) {approximate=\"none\"}"},
    {"opset", kWarning, "tensorrt-8.5", 20, "y = Relu(x)"},
    {"format-too-new", kError, "tensorrt-8.6", 19,
     "const t: f8e4m3fn[] = [0]\nq = QuantizeLinear(x, s, t)\ny = DequantizeLinear(q, s, t)"},
    {"format-too-new", kError, "tensorrt-10.1", 23,
     "const t: f4e2m1[] = [0]\nq = QuantizeLinear(x, s, t)\ny = DequantizeLinear(q, s, t)"},
    {"format-too-new", kError, "tensorrt-8.6", 21,
     "const v: i4[4, 4] = [-8, 7, 1, 2, 3, 4, 5, 6, 7, -1, -2, -3, -4, -5, -6, -7]\n"
     "const t: f32[2, 4] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]\n"
     "const u: i4[2, 4] = [0, 0, 0, 0, 0, 0, 0, 0]\n"
     "d = DequantizeLinear(v, t, u) {axis=0, block_size=2}\ny = MatMul(x, d)"},
    {"zero-point-not-zero", kError, "tensorrt-10", 17,
     "const v: i32[] = [3]\ni = Cast(v) {to=3}\nq = QuantizeLinear(x, s, i)\n"
     "y = DequantizeLinear(q, s, i)"},
    {"zero-point-not-zero", kError, "tensorrt-10", 17,
     "const c: u8[4, 2] = [0, 255, 3, 77, 128, 200, 9, 1]\nconst u: u8[] = [90]\n"
     "input i: i64[3]\nd = DequantizeLinear(c, s, u)\ny = Gather(d, i)"},
    {"uint8-data", kError, "tensorrt-10", 17,
     "input c: u8[2, 4]\nconst u: u8[] = [90]\nd = DequantizeLinear(c, s, u)\ny = Add(x, d)"},
    {"unknown-domain", kError, "tensorrt-10", 17, "y = com.microsoft.Trilu(x)"},
    {"unknown-domain", kError, "tensorrt-10", 17,
     "const f: f32[] = [0]\nconst b: f32[] = [4]\n"
     "y = onnx.brevitas.Quant(x, s, f, b) {signed=1, narrow=0, rounding_mode=\"ROUND\"}"},
    {"input-type", kError, "tensorrt-10", 17, "input t: u16[2]\ny = Neg(x)"},
    {"cast-type", kError, "tensorrt-10", 17, "a = Cast(x) {to=5}\ny = Cast(a) {to=1}"},
    {"initializer-type", kError, "tensorrt-10", 17,
     "const t: u16[4] = [1, 2, 3, 4]\na = Cast(t) {to=1}\ny = Add(x, a)"},
};

const RuleFile kOnnxRuntimeFiles[] = {
    {"opset", kError, "onnxruntime-1.17", 21, "y = Relu(x)"},
    {"ir-version", kError, "onnxruntime", 17, "y = Relu(x)", true, 99},
    {"declared-type", kError, "onnxruntime", 17, "m = Neg(x)\noutput m: i8[2, 4]\ny = Relu(x)"},
    {"declared-shape", kWarning, "onnxruntime", 17, "m = Neg(x)\noutput m: f32[3, 4]\ny = Relu(x)"},
    {"unknown-domain", kError, "onnxruntime", 17,
     "const f: f32[] = [0]\nconst b: f32[] = [4]\n"
     "y = onnx.brevitas.Quant(x, s, f, b) {signed=1, narrow=0, rounding_mode=\"ROUND\"}"},
    {"unknown-domain", kError, "onnxruntime", 17,
     "const a: f32[4] = [0.1, 0.2, 0.3, 0.4]\ny = octet.native.QDynamicGemm(x, w8, a)"},
    {"zero-point-missing", kWarning, "onnxruntime", 17,
     "q = QuantizeLinear(x, s)\ny = DequantizeLinear(q, s)"},
    {"scale-type", kError, "onnxruntime", 23,
     "t = Cast(x) {to=10}\nq = QuantizeLinear(t, s, z)\ny = DequantizeLinear(q, s, z)"},
    {"scale-not-positive", kWarning, "onnxruntime", 17,
     "const t: f32[] = [-0.1]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)"},
    {"scale-not-normal", kWarning, "onnxruntime", 17,
     "const t: f32[] = [inf]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)"},
    {"zero-point-volume", kError, "onnxruntime", 17,
     "d = DequantizeLinear(w8, s4, z) {axis=1}\ny = MatMul(x, d)"},
    {"parameter-shape", kError, "onnxruntime", 17,
     "const t: f32[1, 1] = [0.1]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, s, z)"},
    {"integer-zero-point", kError, "onnxruntime", 17,
     "const u: u8[] = [128]\nconst k: i8[4, 2] = [1, -2, 3, 100, -7, 8, 9, -100]\n"
     "const n: u8[2] = [128, 128]\nq = QuantizeLinear(x, s, u)\ni = MatMulInteger(q, k, n)\n"
     "y = Cast(i) {to=1}"},
    {"output-dtype", kError, "onnxruntime", 21,
     "q = QuantizeLinear(x, s, z) {output_dtype=3}\nd = DequantizeLinear(q, s, z)\ny = Neg(d)"},
    {"output-dtype", kWarning, "onnxruntime-1.20", 21,
     "q = QuantizeLinear(x, s, z) {output_dtype=3}\nd = DequantizeLinear(q, s, z)\ny = Neg(d)"},
    {"shared-int8", kWarning, "onnxruntime", 17,
     "q = QuantizeLinear(x, s, z)\na = DequantizeLinear(q, s, z)\nb = DequantizeLinear(q, s, z)\n"
     "y = Add(a, b)"},
    {"moved-zero-point", kError, "onnxruntime", 17,
     "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s)\na = Transpose(d)\ny = Neg(a)"},
    {"moved-int8", kError, "onnxruntime", 21,
     "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\na = Transpose(d)\ny = Neg(a)"},
    {"moved-int8", kError, "onnxruntime", 21,
     "const n: i64[3] = [1, 2, 4]\nq = QuantizeLinear(x, s, z)\nr = Reshape(q, n)\n"
     "d = DequantizeLinear(r, s, z)\nm = MatMul(d, w)\ny = Add(m, s4)"},
    {"half-concat", kError, "onnxruntime", 21,
     "const h: f16[] = [0.1]\nconst u: u8[] = [128]\nt = Cast(x) {to=10}\nn = Neg(t)\n"
     "q = QuantizeLinear(t, h, u)\nd = DequantizeLinear(q, h, u)\no = QuantizeLinear(n, h, u)\n"
     "e = DequantizeLinear(o, h, u)\nc = Concat(d, e) {axis=0}\nr = QuantizeLinear(c, h, u)\n"
     "f = DequantizeLinear(r, h, u)\ny = Cast(f) {to=1}"},
    {"bias-scale", kError, "onnxruntime", 17,
     "const u: u8[] = [128]\nconst b: i32[4] = [10, -20, 30, 7]\nconst t: f32[] = [0.5]\n"
     "const o: i32[] = [0]\nq = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
     "v = DequantizeLinear(w8, s, z)\nc = DequantizeLinear(b, t, o)\ng = Gemm(d, v, c)\n"
     "p = QuantizeLinear(g, s, u)\ny = DequantizeLinear(p, s, u)"},
    {"bias-range", kError, "onnxruntime", 17,
     "const u: u8[] = [128]\nconst t: f32[4] = [0.1, 0.1, 1e-9, 0.1]\n"
     "const b: f32[4] = [1, -2, 3, 4]\nq = QuantizeLinear(x, s, u)\n"
     "d = DequantizeLinear(q, s, u)\nv = DequantizeLinear(w8, t, z4) {axis=1}\n"
     "g = Gemm(d, v, b)\np = QuantizeLinear(g, s, u)\ny = DequantizeLinear(p, s, u)"},
    {"bias-range", kWarning, "onnxruntime-1.23", 21,
     "const h: f16[] = [0.01]\nconst u: u8[] = [128]\nconst t: f16[4] = [1e-3, 1e-3, 1e-3, 1e-3]\n"
     "const b: f16[4] = [0.1, -0.2, 3, 0.4]\nc = Cast(x) {to=10}\nq = QuantizeLinear(c, h, u)\n"
     "d = DequantizeLinear(q, h, u)\nv = DequantizeLinear(w8, t, z4) {axis=1}\n"
     "m = MatMul(d, v)\na = Add(m, b)\nr = Relu(a)\np = QuantizeLinear(r, h, u)\n"
     "e = DequantizeLinear(p, h, u)\ny = Cast(e) {to=1}"},
    {"mixed-scale", kError, "onnxruntime", 23,
     "const t: f16[4] = [0.1, 0.2, 0.3, 0.4]\n"
     "v = DequantizeLinear(w8, t, z4) {axis=1, output_dtype=1}\ny = MatMul(x, v)"},
    {"fused-parameters", kError, "onnxruntime", 17,
     "const u: u8[] = [128]\nconst t: f32[4] = [0.1, 0.2, 0.3, 0.4]\nq = QuantizeLinear(x, s, u)\n"
     "d = DequantizeLinear(q, s, u)\nv = DequantizeLinear(w8, t, z4) {axis=0}\ny = MatMul(d, v)"},
    {"fused-parameters", kError, "onnxruntime", 21,
     "const u: u8[] = [128]\nconst t: f32[2, 4] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]\n"
     "const b: i8[2, 4] = [0, 0, 0, 0, 0, 0, 0, 0]\nq = QuantizeLinear(x, s, u)\n"
     "d = DequantizeLinear(q, s, u)\nv = DequantizeLinear(w8, t, b) {axis=0, block_size=2}\n"
     "y = MatMul(d, v)"},
    {"fused-parameters", kError, "onnxruntime", 17,
     "const u: u8[4] = [128, 128, 128, 128]\nconst u1: u8[] = [128]\n"
     "q = QuantizeLinear(x, s4, u) {axis=1}\nd = DequantizeLinear(q, s4, u) {axis=1}\n"
     "n = Neg(x)\np = QuantizeLinear(n, s, u1)\ne = DequantizeLinear(p, s, u1)\na = Add(d, e)\n"
     "r = QuantizeLinear(a, s, u1)\ny = DequantizeLinear(r, s, u1)"},
    {"fused-codes", kError, "onnxruntime", 21,
     "const f: f8e4m3fn[] = [0]\nq = QuantizeLinear(x, s, f)\nd = DequantizeLinear(q, s, f)\n"
     "v = DequantizeLinear(w8, s, z)\ny = MatMul(d, v)"},
    {"fused-codes", kError, "onnxruntime", 25,
     "const f: u2[] = [2]\nn = Neg(x)\na = Transpose(n)\nb = Transpose(a)\n"
     "const e: i64[2] = [4, 2]\nr = Reshape(b, e)\nq = QuantizeLinear(r, s, f)\n"
     "y = DequantizeLinear(q, s, f)"},
    {"bias-opset", kError, "onnxruntime", 10,
     "const u: u8[] = [128]\nq = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
     "v = DequantizeLinear(w8, s, z)\ng = Gemm(d, v, s4)\no = QuantizeLinear(g, s, u)\n"
     "y = DequantizeLinear(o, s, u)"},
    {"rounded-weight", kWarning, "onnxruntime", 17,
     "const u: u8[] = [128]\nq = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
     "g = Gemm(d, w, s4) {transB=1}\no = QuantizeLinear(g, s, u)\ny = DequantizeLinear(o, s, u)"},
    {"two-bit-columns", kError, "onnxruntime-1.26", 25,
     "const k: u2[4, 3] = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]\nd = DequantizeLinear(k, s)\n"
     "y = MatMul(x, d)"},
    {"clamp-before-codes", kError, "onnxruntime", 21,
     "const f: i4[] = [0]\nr = Relu(x)\nq = QuantizeLinear(r, s, f)\n"
     "y = DequantizeLinear(q, s, f)"},
    {"clamp-before-codes", kError, "onnxruntime", 21,
     "const f: f8e5m2[] = [0]\nn = Neg(x)\nr = Clip(n)\nq = QuantizeLinear(r, s, f)\n"
     "y = DequantizeLinear(q, s, f)"},
    {"clamp-before-codes", kWarning, "onnxruntime-1.20", 21,
     "const f: i4[] = [0]\nr = Relu(x)\nq = QuantizeLinear(r, s, f)\n"
     "y = DequantizeLinear(q, s, f)"},
    {"fused-dilations", kError, "onnxruntime", 19,
     "const u: u8[] = [128]\nconst n: i64[4] = [1, 1, 2, 4]\nq = QuantizeLinear(x, s, u)\n"
     "d = DequantizeLinear(q, s, u)\nr = Reshape(d, n)\n"
     "p = AveragePool(r) {kernel_shape=[2, 2], dilations=[1, 1]}\n"
     "o = QuantizeLinear(p, s, u)\ny = DequantizeLinear(o, s, u)"},
    {"fused-dilations", kError, "onnxruntime-1.20", 19,
     "const u: u8[] = [128]\nconst n: i64[4] = [1, 1, 2, 4]\nq = QuantizeLinear(x, s, u)\n"
     "r = Reshape(q, n)\nd = DequantizeLinear(r, s, u)\n"
     "p = AveragePool(d) {kernel_shape=[1, 2], dilations=[1, 2]}\n"
     "o = QuantizeLinear(p, s, u)\ny = DequantizeLinear(o, s, u)"},
    {"fused-softmax", kError, "onnxruntime", 17,
     "const t: f32[] = [0.00392]\nconst u: u8[] = [128]\nconst n: i64[2] = [8, 1]\n"
     "q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\nr = Reshape(d, n)\n"
     "p = Softmax(r)\no = QuantizeLinear(p, t, u)\ny = DequantizeLinear(o, t, u)"},
    {"no-cuda-kernel", kWarning, "onnxruntime-cuda", 18, "y = Mish(x)"},
    {"no-cpu-kernel", kError, "onnxruntime", 17,
     "q = com.microsoft.QuantizeWithOrder(x, s) {order_input=1, order_output=1}\n"
     "y = com.microsoft.DequantizeWithOrder(q, s) {order_input=1, order_output=1, to=1}"},
    {"operator-version", kError, "onnxruntime", 17, "y = Gelu(x)"},
    {"unknown-attribute", kError, "onnxruntime", 17, "y = Relu(x) {slope=2}"},
    {"operator-type", kError, "onnxruntime", 13,
     "q = QuantizeLinear(x, s, z)\nr = Relu(q)\ny = DequantizeLinear(r, s, z)"},
    {"no-cpu-kernel", kError, "onnxruntime", 17,
     "const a: f32[1, 4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n"
     "const n: i64[3] = [2, 1, 4]\nr = Reshape(x, n)\n"
     "y = RNN(r, a, a) {hidden_size=4, layout=1}"},
    {"no-cpu-kernel", kError, "onnxruntime", 17,
     "a = Cast(x) {to=5}\nb = Relu(a)\ny = Cast(b) {to=1}"},
    {"no-cpu-kernel", kError, "onnxruntime", 17,
     "const u: u8[] = [128]\nq = QuantizeLinear(x, s, z)\n"
     "const v: u8[4, 4] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]\n"
     "p = QLinearMatMul(q, s, z, v, s, u, s, z)\ny = DequantizeLinear(p, s, z)"},
    {"scatter-reduction", kError, "onnxruntime", 18,
     "const i: i64[1, 1] = [1]\nconst u: f16[1, 4] = [1, 2, 3, 4]\na = Cast(x) {to=10}\n"
     "b = ScatterND(a, i, u) {reduction=\"add\"}\ny = Cast(b) {to=1}"},
    {"scatter-reduction", kWarning, "onnxruntime-1.20", 18,
     "const i: i64[1, 4] = [0, 1, 0, 1]\nconst u: bool[1, 4] = [1, 0, 1, 0]\na = Cast(x) {to=9}\n"
     "b = ScatterElements(a, i, u) {reduction=\"max\"}\ny = Cast(b) {to=1}"},
    {"merged-pad", kError, "onnxruntime", 17,
     "const i: i64[3] = [1, 2, 4]\nconst n: i64[6] = [0, 0, 1, 0, 0, 1]\na = Reshape(x, i)\n"
     "b = Pad(a, n)\ny = MaxPool(b) {kernel_shape=[3]}"},
    {"quantized-output", kError, "onnxruntime", 17,
     "m = Neg(x)\noutput m: f32[2, 4]\nt = Transpose(m)\nq = QuantizeLinear(t, s, z)\n"
     "y = DequantizeLinear(q, s, z)"},
    {"merged-pairs", kWarning, "onnxruntime", 17,
     "const t: f32[] = [0.2]\nq = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
     "p = QuantizeLinear(d, t, z)\ny = DequantizeLinear(p, t, z)"},
    {"no-cpu-kernel", kError, "onnxruntime", 17, "y = com.microsoft.Unheard(x)"},
    {"no-cpu-kernel", kWarning, "onnxruntime-1.20", 17, "y = com.microsoft.Unheard(x)"},
    {"shared-constant", kWarning, "onnxruntime", 17,
     "const l: i8[4, 4] = [1, -2, 3, 100, 5, -6, 7, 8, 9, 1, -2, 3, 4, 5, -6, 7]\n"
     "d = DequantizeLinear(l, s4, z4) {axis=1}\nm = MatMul(x, d)\nn = MatMul(m, d)\n"
     "y = Add(m, n)"},
    {"exact-mode-kernel", kWarning, "onnxruntime", 17,
     "const l: i8[4, 4] = [1, -2, 3, 100, 5, -6, 7, 8, 9, 1, -2, 3, 4, 5, -6, 7]\n"
     "q = QuantizeLinear(x, s, z)\np = QLinearMatMul(q, s, z, l, s, z, s, z)\n"
     "y = DequantizeLinear(p, s, z)"},
    {"gemm-zero-point", kWarning, "onnxruntime", 17,
     "const u: u8[] = [128]\nq = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
     "v = DequantizeLinear(w8, s4) {axis=1}\ng = Gemm(d, v)\np = QuantizeLinear(g, s, u)\n"
     "y = DequantizeLinear(p, s, u)"},
    {"exact-mode-zero-point", kWarning, "onnxruntime-1.29", 17,
     "const l: i8[4, 4] = [1, -2, 3, 100, 5, -6, 7, 8, 9, 1, -2, 3, 4, 5, -6, 7]\n"
     "d = DequantizeLinear(l, s)\ny = MatMul(x, d)"},
    {"exact-mode-zero-point", kWarning, "onnxruntime", 17,
     "const l: i8[4, 4] = [1, -2, 3, 100, 5, -6, 7, 8, 9, 1, -2, 3, 4, 5, -6, 7]\n"
     "d = DequantizeLinear(l, s4) {axis=1}\ny = MatMul(x, d)"},
};

const RuleFile kOctetFiles[] = {
    {"declared-type", kWarning, "octet", 17, "m = Neg(x)\noutput m: i8[2, 4]\ny = Relu(x)"},
    {"declared-shape", kWarning, "octet", 17, "m = Neg(x)\noutput m: f32[6]\ny = Relu(x)"},
    {"unknown-operator", kError, "octet", 17, "y = Unheard(x)"},
    {"scale-not-positive", kWarning, "octet", 17,
     "const t: f32[] = [0.0]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)"},
    {"scale-not-normal", kWarning, "octet", 17,
     "const t: f32[] = [inf]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)"},
    {"operator-type", kError, "octet", 17,
     "const t: f8e4m3fn[] = [0]\nq = QuantizeLinear(x, s, t)\ny = DequantizeLinear(q, s, t)"},
};

constexpr const char* kCoded =
    "const u: u8[] = [100]\nconst k: i8[4, 4] = [1, -128, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, "
    "15, 16]\nconst v: i8[] = [3]\nq = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
    "e = DequantizeLinear(k, s, v)\ny = MatMul(d, e)";

const RuleFile kCustomFiles[] = {
    {"opset", kError, "own-opset", 17, "y = Relu(x)", true, 0, "opset = 13"},
    {"operator", kError, "own-operator", 17, "y = Relu(x)", false, 0,
     "[operators]\nrefuse = [\"Relu\"]"},
    {"activation-type", kError, "own-activation", 17, kCoded, false, 0,
     "[activations]\ntype = \"int8\""},
    {"zero-point-not-zero", kError, "own-zero", 17, kCoded, false, 0,
     "[activations]\nsymmetric-only = true"},
    {"weight-zero-point", kError, "own-weight-zero", 17, kCoded, false, 0,
     "[weights]\nsymmetric = true"},
    {"stored-weight", kError, "own-stored", 17, kCoded, false, 0, "[weights]\nstored = false"},
    {"weight-range", kError, "own-range", 17, kCoded, false, 0, "[weights]\nnarrow = true"},
};

} // namespace

std::vector<RuleFile> rule_files() {
  std::vector<RuleFile> out;
  for (const std::span<const RuleFile> files :
       {std::span<const RuleFile>(kTensorRtFiles), std::span<const RuleFile>(kOnnxRuntimeFiles),
        std::span<const RuleFile>(kOctetFiles), std::span<const RuleFile>(kCustomFiles)})
    out.insert(out.end(), files.begin(), files.end());
  return out;
}

std::string target_of(const RuleFile& file) {
  if (file.toml == nullptr) return file.target;
  std::string path = testing::TempDir() + file.target + ".toml";
  std::ofstream(path) << "base = \"onnxruntime\"\n" << file.toml << "\n";
  return path;
}

Graph parse_rule_file(const RuleFile& file) {
  BadFile all = {.name = file.rule, .body = file.body, .rule = file.rule, .repair = ""};
  all.opset = file.opset;
  Graph graph = parse_bad_file(all);
  if (file.ir_version != 0) graph.info.ir_version = file.ir_version;
  return graph;
}

} // namespace octet::test
