// SPDX-License-Identifier: Apache-2.0
#include "targets/bad_files.h"

#include "octet/graph_text.h"

namespace octet::test {

namespace {

const BadFile kFiles[] = {
    {"uint8_128",
     "const u: u8[] = [128]\nq = QuantizeLinear(x, s, u)\ny = DequantizeLinear(q, s, u)",
     "zero-point-uint8", "symmetric_activation"},
    {"uint8_127",
     "const u: u8[] = [127]\nq = QuantizeLinear(x, s, u)\ny = DequantizeLinear(q, s, u)",
     "zero-point-not-zero", "symmetric_activation", 0.1001},
    {"uint8_0", "const u: u8[] = [0]\nq = QuantizeLinear(x, s, u)\ny = DequantizeLinear(q, s, u)",
     "zero-point-uint8", "shift_activation", 0.1001},
    {"uint8_0_widened",
     "const u: u8[] = [0]\nq = QuantizeLinear(x, s, u)\ny = DequantizeLinear(q, s, u)",
     "zero-point-uint8", "symmetric_activation", 0.16, 17, "tensorrt-10", false, true,
     ZeroPointForm::kWiden},
    {"uint8_0_after_relu",
     "const u: u8[] = [0]\nr = Relu(x)\nq = QuantizeLinear(r, s, u)\n"
     "y = DequantizeLinear(q, s, u)",
     "zero-point-uint8", "shift_activation", 0.1001},
    {"uint8_0_after_relu_widened",
     "const u: u8[] = [0]\nr = Relu(x)\nq = QuantizeLinear(r, s, u)\n"
     "y = DequantizeLinear(q, s, u)",
     "zero-point-uint8", "symmetric_activation", 0.16, 17, "tensorrt-10", false, true,
     ZeroPointForm::kWiden},
    {"int8_low_zero_point",
     "const u: i8[] = [-128]\nq = QuantizeLinear(x, s, u)\ny = DequantizeLinear(q, s, u)",
     "zero-point-not-zero", "shift_activation", 0.1001},
    {"int8_low_zero_point_widened",
     "const u: i8[] = [-128]\nq = QuantizeLinear(x, s, u)\ny = DequantizeLinear(q, s, u)",
     "zero-point-not-zero", "symmetric_activation", 0.16, 17, "tensorrt-10", false, true,
     ZeroPointForm::kWiden},
    {"int8_zero_point_3",
     "const u: i8[] = [3]\nq = QuantizeLinear(x, s, u)\ny = DequantizeLinear(q, s, u)",
     "zero-point-not-zero", "shift_activation", 0.1001},
    {"int8_zero_point_3_widened",
     "const u: i8[] = [3]\nq = QuantizeLinear(x, s, u)\ny = DequantizeLinear(q, s, u)",
     "zero-point-not-zero", "symmetric_activation", 0.11, 17, "tensorrt-10", false, true,
     ZeroPointForm::kWiden},
    {"uint8_100_before_product",
     "const u: u8[] = [100]\nq = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
     "m = MatMul(d, w)\ny = Add(m, s4)",
     "zero-point-not-zero", "shift_activation", 4.01},
    {"uint8_0_before_gemm",
     "const u: u8[] = [0]\nr = Relu(x)\nq = QuantizeLinear(r, s, u)\n"
     "d = DequantizeLinear(q, s, u)\ny = Gemm(d, w, s4) {alpha=0.5, transB=1}",
     "zero-point-uint8", "shift_activation", 2.91},
    {"int8_3_of_product_of_two",
     "const u: i8[] = [3]\nq = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
     "t = Transpose(d) {perm=[1, 0]}\nm = MatMul(d, t)\ny = MatMul(m, x)",
     "zero-point-not-zero", "symmetric_activation", -1},
    {"reduced_range_bounded_by_clip",
     "const lo: f32[] = [-6.3]\nconst hi: f32[] = [6.4]\nconst u: u8[] = [63]\n"
     "c = Clip(x, lo, hi)\nq = QuantizeLinear(c, s, u)\ny = DequantizeLinear(q, s, u)",
     "zero-point-not-zero", "symmetric_activation"},
    {"int16_softmax_one_code_too_many",
     "const u: i16[] = [5]\nconst t: f32[] = [0.0078]\np = Softmax(x) {axis=-1}\n"
     "q = QuantizeLinear(p, t, u)\ny = DequantizeLinear(q, t, u)",
     "format", "symmetric_activation", 0.00781, 21},
    {"uint16_from_minus_5_one_code_too_many",
     "const u: u16[] = [5]\nconst hi: f32[] = [12.84]\nconst lo: f32[] = [-20]\n"
     "c = Clip(x, lo, hi)\nq = QuantizeLinear(c, s, u)\ny = DequantizeLinear(q, s, u)",
     "format", "symmetric_activation", 0.1001, 21},
    {"softmax_255",
     "const u: u8[] = [0]\nconst t: f32[] = [0.003921569]\np = Softmax(x) {axis=-1}\n"
     "q = QuantizeLinear(p, t, u)\ny = DequantizeLinear(q, t, u)",
     "zero-point-uint8", "shift_activation", 0.00393},
    {"softmax_255_widened",
     "const u: u8[] = [0]\nconst t: f32[] = [0.003921569]\np = Softmax(x) {axis=-1}\n"
     "q = QuantizeLinear(p, t, u)\ny = DequantizeLinear(q, t, u)",
     "zero-point-uint8", "symmetric_activation", 0.006, 17, "tensorrt-10", false, true,
     ZeroPointForm::kWiden},
    {"zero_point_behind_identity",
     "i = Identity(z)\nq = QuantizeLinear(x, s, i)\ny = DequantizeLinear(q, s, i)",
     "zero-point-hidden", "fold_parameter"},
    {"zero_point_behind_cast",
     "const v: i32[] = [0]\ni = Cast(v) {to=3}\nq = QuantizeLinear(x, s, i)\n"
     "y = DequantizeLinear(q, s, i)",
     "zero-point-hidden", "fold_parameter"},
    {"zero_point_of_constant_of_shape",
     "const n: i64[0] = []\nf = ConstantOfShape(n)\ni = Cast(f) {to=3}\n"
     "q = QuantizeLinear(x, s, i)\ny = DequantizeLinear(q, s, i)",
     "zero-point-hidden", "fold_parameter"},
    {"no_zero_point", "q = QuantizeLinear(x, s)\ny = DequantizeLinear(q, s)", "zero-point-missing",
     "add_zero_point", 0.16},
    {"no_zero_point_on_weight", "d = DequantizeLinear(w8, s)\ny = MatMul(x, d)",
     "zero-point-missing", "add_zero_point", 0, 17, "tensorrt-8.6"},
    {"zero_points_fewer_than_scales", "d = DequantizeLinear(w8, s4, z) {axis=1}\ny = MatMul(x, d)",
     "zero-point-volume", "match_zero_point"},
    {"axis_missing", "d = DequantizeLinear(w8, s4, z4)\ny = MatMul(x, d)", "axis-missing",
     "set_axis"},
    {"activation_per_channel",
     "q = QuantizeLinear(x, s4, z4) {axis=1}\ny = DequantizeLinear(q, s4, z4) {axis=1}",
     "activation-per-channel", "symmetric_activation", 38.41},
    {"int32_bias",
     "const b: i32[4] = [100, -200, 300, 7]\nconst t: f32[4] = [0.01, 0.02, 0.03, 0.04]\n"
     "const zb: i32[4] = [0, 0, 0, 0]\nd = DequantizeLinear(b, t, zb) {axis=0}\n"
     "m = MatMul(x, w)\ny = Add(m, d)",
     "int32-dequantize", "fold_bias"},
    {"row_with_zero_point",
     "const b: u8[4] = [0, 20, 255, 7]\nconst u: u8[] = [90]\nd = DequantizeLinear(b, s, u)\n"
     "m = MatMul(x, w)\ny = Add(m, d)",
     "uint8-data", "fold_row"},
    {"scale_zero",
     "const t: f32[] = [0.0]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     "scale-not-positive", "replace_scale", -1},
    {"scale_nan",
     "const t: f32[] = [nan]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     "scale-not-positive", "replace_scale", -1},
    {"scale_negative",
     "const t: f32[] = [-0.1]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     "scale-not-positive", "replace_scale", 0.101},
    {"scale_infinite",
     "const t: f32[] = [inf]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     "scale-not-normal", "replace_scale", -1},
    {"scale_subnormal",
     "const t: f32[] = [1e-40]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     "scale-not-normal", "replace_scale", -1},
    {"dead_channel_of_stored_weight",
     "const t: f32[4] = [0.1, 0.0, 0.2, 0.3]\nd = DequantizeLinear(w8, t, z4) {axis=1}\n"
     "y = MatMul(x, d)",
     "scale-not-positive", "replace_scale"},
    {"negative_scale_of_stored_weight",
     "const t: f32[4] = [0.1, -0.2, 0.2, 0.3]\nd = DequantizeLinear(w8, t, z4) {axis=1}\n"
     "y = MatMul(x, d)",
     "scale-not-positive", "replace_scale"},
    {"dead_channel_of_float_weight",
     "const v: f32[4, 4] = [1, 0, 3, 4, 5, 0, 7, 8, 9, 0, 11, 12, 13, 0, 15, 16]\n"
     "const t: f32[4] = [0.2, 0.0, 0.2, 0.2]\nq = QuantizeLinear(v, t, z4) {axis=1}\n"
     "d = DequantizeLinear(q, t, z4) {axis=1}\ny = MatMul(x, d)",
     "scale-not-positive", "replace_scale"},
    {"scale_int32",
     "const t: i32[] = [1]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     "scale-type", "convert_scale", 0, 17, "tensorrt-10", false, false},
    {"scale_half",
     "const t: f16[] = [0.1]\nh = Cast(x) {to=10}\nq = QuantizeLinear(h, t, z)\n"
     "d = DequantizeLinear(q, t, z)\ny = Cast(d) {to=1}",
     "scale-f16", "convert_scale", 0.11, 19, "tensorrt-8.6"},
    {"scale_half_of_floats",
     "const t: f16[] = [0.1]\nd = DequantizeLinear(w8, t, z) {output_dtype=1}\nr = Relu(d)\n"
     "y = MatMul(x, r)",
     "scale-f16", "convert_scale", 0, 23, "tensorrt-8.6"},
    {"output_dtype", "q = QuantizeLinear(x, s, z) {output_dtype=3}\ny = DequantizeLinear(q, s, z)",
     "output-dtype", "drop_output_type", 0, 21},
    {"cast_between",
     "const u: u8[] = [128]\nq = QuantizeLinear(x, s, u)\nc = Cast(q) {to=2}\n"
     "y = DequantizeLinear(c, s, u)",
     "uint8-tensor", "drop_cast"},
    {"wide_cast_between",
     "const v: i32[] = [0]\nq = QuantizeLinear(x, s, z)\nc = Cast(q) {to=6}\n"
     "y = DequantizeLinear(c, s, v)",
     "int32-dequantize", "drop_cast"},
    {"clip_on_stored_codes",
     "const lo: i8[] = [-7]\nconst hi: i8[] = [7]\nc = Clip(w8, lo, hi)\n"
     "d = DequantizeLinear(c, s, z)\ny = MatMul(x, d)",
     "clip-on-codes", "fold_codes"},
    {"clip_narrow_8_bits",
     "const lo: i8[] = [-127]\nconst hi: i8[] = [127]\nq = QuantizeLinear(x, s, z)\n"
     "c = Clip(q, lo, hi)\ny = DequantizeLinear(c, s, z)",
     "clip-on-codes", "clip_codes", 0.1001},
    {"clip_full_8_bits",
     "const lo: i8[] = [-128]\nconst hi: i8[] = [127]\nq = QuantizeLinear(x, s, z)\n"
     "c = Clip(q, lo, hi)\ny = DequantizeLinear(c, s, z)",
     "clip-on-codes", "clip_codes"},
    {"clip_4_bits",
     "const lo: i8[] = [-8]\nconst hi: i8[] = [7]\nq = QuantizeLinear(x, s, z)\n"
     "c = Clip(q, lo, hi)\ny = DequantizeLinear(c, s, z)",
     "clip-on-codes", "clip_codes"},
    {"clip_unsigned_7_bits",
     "const u: u8[] = [0]\nconst hi: u8[] = [127]\nq = QuantizeLinear(x, s, u)\n"
     "c = Clip(q, u, hi)\ny = DequantizeLinear(c, s, u)",
     "clip-on-codes", "clip_codes"},
    {"float_weight_clipped",
     "const lo: i8[] = [-127]\nconst hi: i8[] = [127]\nq = QuantizeLinear(w, s4, z4) {axis=1}\n"
     "c = Clip(q, lo, hi)\nd = DequantizeLinear(c, s4, z4) {axis=1}\ny = MatMul(x, d)",
     "clip-on-codes", "fold_codes"},
    {"pool_on_uint8",
     "const u: u8[] = [128]\nconst n: i64[4] = [1, 1, 2, 4]\nconst m: i64[2] = [1, 3]\n"
     "q = QuantizeLinear(x, s, u)\nr = Reshape(q, n)\n"
     "p = MaxPool(r) {kernel_shape=[2, 2]}\nt = Reshape(p, m)\ny = DequantizeLinear(t, s, u)",
     "uint8-tensor", "move_codes"},
    {"concat_of_uint8",
     "const u: u8[] = [128]\na = QuantizeLinear(x, s, u)\nn = Neg(x)\n"
     "b = QuantizeLinear(n, s, u)\nc = Concat(a, b) {axis=1}\ny = DequantizeLinear(c, s, u)",
     "uint8-tensor", "move_codes"},
    {"stored_uint8_weight",
     "const v: u8[4, 4] = [0, 1, 2, 3, 124, 125, 126, 127, 128, 129, 130, 131, 252, 253, 254, "
     "255]\n"
     "const u: u8[] = [128]\nd = DequantizeLinear(v, s, u)\ny = MatMul(x, d)",
     "uint8-data", "symmetric_weight"},
    {"stored_int8_weight_with_zero_points",
     "const u: i8[4] = [1, -2, 3, 100]\nd = DequantizeLinear(w8, s4, u) {axis=1}\n"
     "y = MatMul(x, d)",
     "zero-point-not-zero", "symmetric_weight"},
    {"stored_uint8_weight_beyond_int8",
     "const v: u8[4, 4] = [0, 1, 2, 3, 124, 125, 126, 127, 128, 129, 130, 131, 252, 253, 254, "
     "255]\n"
     "const u: u8[] = [10]\nd = DequantizeLinear(v, s, u)\ny = MatMul(x, d)",
     "uint8-data", "symmetric_weight", 400},
    {"float_weight_with_zero_point",
     "const u: i8[] = [5]\nq = QuantizeLinear(w, s, u)\nd = DequantizeLinear(q, s, u)\n"
     "y = MatMul(x, d)",
     "zero-point-not-zero", "symmetric_weight"},
    {"microsoft_domain",
     "const u: u8[] = [128]\nq = com.microsoft.QuantizeLinear(x, s, u)\n"
     "y = com.microsoft.DequantizeLinear(q, s, u)",
     "zero-point-uint8", "standard_domain"},
    {"int16_activation",
     "const u: i16[] = [0]\nconst t: f32[] = [0.001]\nq = com.microsoft.QuantizeLinear(x, t, u)\n"
     "y = com.microsoft.DequantizeLinear(q, t, u)",
     "format", "symmetric_activation", 0.13},
    {"qlinear_conv",
     "const n: i64[4] = [1, 1, 2, 4]\nconst m: i64[2] = [2, 3]\nconst u: u8[] = [120]\n"
     "const k: i8[2, 1, 2, 2] = [1, 2, 3, 4, 5, 6, 7, 8]\nconst ks: f32[2] = [0.1, 0.2]\n"
     "const kz: i8[2] = [0, 0]\nconst b: i32[2] = [50, -50]\nconst ys: f32[] = [0.25]\n"
     "q = QuantizeLinear(x, s, u)\nr = Reshape(q, n)\n"
     "c = QLinearConv(r, s, u, k, ks, kz, ys, u, b)\nt = Reshape(c, m)\n"
     "y = DequantizeLinear(t, ys, u)",
     "integer-operator", "qlinear_conv", 3},
    {"qlinear_matmul",
     "const u: u8[] = [128]\nconst ys: f32[] = [2]\nq = QuantizeLinear(x, s, u)\n"
     "c = QLinearMatMul(q, s, u, w8, s4, z4, ys, u)\ny = DequantizeLinear(c, ys, u)",
     "integer-operator", "qlinear_matmul", 2},
    {"qgemm",
     "const u: u8[] = [128]\nconst ys: f32[] = [2]\nconst b: i32[4] = [10, -20, 30, -40]\n"
     "q = QuantizeLinear(x, s, u)\n"
     "c = com.microsoft.QGemm(q, s, u, w8, s4, z4, b, ys, u) {alpha=1.0, transB=1}\n"
     "y = DequantizeLinear(c, ys, u)",
     "unknown-domain", "qgemm", 2},
    {"qlinear_add",
     "const u: u8[] = [128]\nconst ys: f32[] = [0.2]\nq = QuantizeLinear(x, s, u)\n"
     "n = Neg(x)\np = QuantizeLinear(n, s, u)\n"
     "c = com.microsoft.QLinearAdd(q, s, u, p, s, u, ys, u)\ny = DequantizeLinear(c, ys, u)",
     "unknown-domain", "qlinear_pointwise", 0.2001},
    {"qlinear_mul",
     "const u: u8[] = [128]\nconst ys: f32[] = [0.2]\nq = QuantizeLinear(x, s, u)\n"
     "c = com.microsoft.QLinearMul(q, s, u, q, s, u, ys, u)\ny = DequantizeLinear(c, ys, u)",
     "unknown-domain", "qlinear_pointwise", 0.2001},
    {"qlinear_concat",
     "const u: u8[] = [128]\nconst ys: f32[] = [0.2]\nq = QuantizeLinear(x, s, u)\n"
     "c = com.microsoft.QLinearConcat(ys, u, q, s, u, q, s, u) {axis=1}\n"
     "y = DequantizeLinear(c, ys, u)",
     "unknown-domain", "qlinear_pointwise", 0.2001},
    {"qlinear_where",
     "const u: u8[] = [128]\nconst ys: f32[] = [0.2]\nconst zero: f32[] = [0]\n"
     "q = QuantizeLinear(x, s, u)\ng = Greater(x, zero)\n"
     "c = com.microsoft.QLinearWhere(g, q, s, u, q, s, u, ys, u)\n"
     "y = DequantizeLinear(c, ys, u)",
     "unknown-domain", "qlinear_pointwise", 0.2001},
    {"qlinear_sigmoid",
     "const u: u8[] = [128]\nconst v: u8[] = [0]\nconst ys: f32[] = [0.00392157]\n"
     "q = QuantizeLinear(x, s, u)\nc = com.microsoft.QLinearSigmoid(q, s, u, ys, v)\n"
     "y = DequantizeLinear(c, ys, v)",
     "unknown-domain", "qlinear_pointwise", 0.01},
    {"qlinear_leaky_relu",
     "const u: u8[] = [128]\nq = QuantizeLinear(x, s, u)\n"
     "c = com.microsoft.QLinearLeakyRelu(q, s, u, s, u) {alpha=0.1}\n"
     "y = DequantizeLinear(c, s, u)",
     "unknown-domain", "qlinear_pointwise", 0.1001},
    {"qlinear_softmax",
     "const u: u8[] = [128]\nconst v: u8[] = [0]\nconst ys: f32[] = [0.00392157]\n"
     "q = QuantizeLinear(x, s, u)\n"
     "c = com.microsoft.QLinearSoftmax(q, s, u, ys, v) {axis=-1, opset=17}\n"
     "y = DequantizeLinear(c, ys, v)",
     "unknown-domain", "qlinear_pointwise", 0.01},
    {"qlinear_average_pool",
     "const n: i64[4] = [1, 1, 2, 4]\nconst m: i64[2] = [1, 3]\nconst u: u8[] = [128]\n"
     "q = QuantizeLinear(x, s, u)\nr = Reshape(q, n)\n"
     "c = com.microsoft.QLinearAveragePool(r, s, u, s, u) {kernel_shape=[2, 2]}\n"
     "t = Reshape(c, m)\ny = DequantizeLinear(t, s, u)",
     "unknown-domain", "qlinear_pool", 0.1001},
    {"qlinear_global_average_pool_channels_last",
     "const n: i64[4] = [1, 2, 2, 2]\nconst m: i64[2] = [1, 2]\nconst u: u8[] = [128]\n"
     "q = QuantizeLinear(x, s, u)\nr = Reshape(q, n)\n"
     "c = com.microsoft.QLinearGlobalAveragePool(r, s, u, s, u) {channels_last=1}\n"
     "t = Reshape(c, m)\ny = DequantizeLinear(t, s, u)",
     "unknown-domain", "qlinear_pool", 0.1001},
    {"matmul_integer_to_float",
     "const u: u8[] = [128]\nconst b: f32[4] = [1, 2, 3, 4]\nq = QuantizeLinear(x, s, u)\n"
     "y = com.microsoft.MatMulIntegerToFloat(q, w8, s, s4, u, z4, b)",
     "unknown-domain", "matmul_integer_to_float", 0.001},
    {"matmul_integer_to_float_one_zero_point",
     "const u: u8[] = [128]\nq = QuantizeLinear(x, s, u)\n"
     "y = com.microsoft.MatMulIntegerToFloat(q, w8, s, s4, u, z)",
     "unknown-domain", "matmul_integer_to_float", 0.001},
    {"matmul_integer_zero_point_per_column",
     "const u: u8[] = [128]\nconst k: f32[] = [0.02]\nconst zc: i8[4] = [1, -2, 3, 0]\n"
     "q = QuantizeLinear(x, s, u)\nm = MatMulInteger(q, w8, u, zc)\nf = Cast(m) {to=1}\n"
     "y = Mul(f, k)",
     "integer-operator", "integer_product", 0.001},
    {"conv_integer_zero_point_per_channel",
     "const u: u8[] = [128]\nconst k: f32[] = [0.02]\nconst n: i64[4] = [1, 1, 2, 4]\n"
     "const m: i64[2] = [3, 3]\nconst h: u8[3, 1, 2, 2] = [1, 2, 3, 4, 50, 60, 70, 80, 9, 9, 9, "
     "1]\n"
     "const zc: u8[3] = [1, 40, 3]\nr = Reshape(x, n)\nq = QuantizeLinear(r, s, u)\n"
     "i = ConvInteger(q, h, u, zc)\nf = Cast(i) {to=1}\no = Mul(f, k)\ny = Reshape(o, m)",
     "integer-operator", "integer_product", 0.03},
    {"dynamic_matmul",
     "q, qs, qz = DynamicQuantizeLinear(x)\nm = MatMulInteger(q, w8, qz, z)\n"
     "f = Cast(m) {to=1}\np = Mul(qs, s4)\no = Mul(f, p)\ny = Add(o, s4)",
     "integer-operator", "dynamic_quantize", 600, 17, "tensorrt-10", true},
    {"dynamic_conv",
     "const n: i64[4] = [1, 1, 2, 4]\nconst m: i64[2] = [1, 3]\n"
     "const k: i8[1, 1, 2, 2] = [1, 2, 3, 4]\nr = Reshape(x, n)\n"
     "q, qs, qz = DynamicQuantizeLinear(r)\ni = ConvInteger(q, k, qz)\nf = Cast(i) {to=1}\n"
     "p = Mul(qs, s)\no = Mul(f, p)\ny = Reshape(o, m)",
     "integer-operator", "dynamic_quantize", 100, 17, "tensorrt-10", true},
    {"dynamic_quantize_matmul", "y = com.microsoft.DynamicQuantizeMatMul(x, w8, s4, z4)",
     "unknown-domain", "dynamic_quantize_matmul", 600, 17, "tensorrt-10", true},
    {"fused_matmul", "y = com.microsoft.FusedMatMul(x, w) {alpha=0.5}", "unknown-domain",
     "standard_operators", 0.001},
    {"fused_gemm", "y = com.microsoft.FusedGemm(x, w) {activation=\"Relu\"}", "unknown-domain",
     "standard_operators", -1, 17, "tensorrt-10", false, false},
    {"bias_gelu", "const b: f32[4] = [1, -2, 3, -4]\ny = com.microsoft.BiasGelu(x, b)",
     "unknown-domain", "standard_operators", 0.001},
    {"qattention",
     "const u: u8[] = [128]\nconst t: f32[] = [0.005]\nconst a: i64[3] = [1, 2, 4]\n"
     "const m: i64[2] = [2, 4]\nconst b: f32[12] = [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]\n"
     "const v: i8[4, 12] = [-37, 0, 37, -23, 14, -46, -9, 28, -32, 5, 42, -18, 19, -41, -4, 33, "
     "-27, 10, 47, -13, 24, -36, 1, 38, -22, 15, -45, -8, 29, -31, 6, 43, -17, 20, -40, -3, 34, "
     "-26, 11, 48, -12, 25, -35, 2, 39, -21, 16, -44]\n"
     "r = Reshape(x, a)\nq = QuantizeLinear(r, s, u)\n"
     "o = com.microsoft.QAttention(q, v, b, s, t, _, u) {num_heads=2}\ny = Reshape(o, m)",
     "unknown-domain", "standard_operators", 0.001},
    {"ordered_codes",
     "q = com.microsoft.QuantizeWithOrder(x, s) {order_input=1, order_output=0}\n"
     "y = com.microsoft.DequantizeWithOrder(q, s) {order_input=0, order_output=1, to=1}",
     "unknown-domain", "standard_operators", 0.1001},
    {"ordered_product",
     "const t: f32[] = [3]\nconst b: f32[4] = [1, 2, 3, 4]\nq = QuantizeLinear(x, s, z)\n"
     "o = com.microsoft.QOrderedMatMul(q, s, w8, s4, t, b, q, s) {order_A=1, order_B=0, "
     "order_Y=1}\ny = DequantizeLinear(o, t, z)",
     "unknown-domain", "standard_operators", 3.0001},
    {"ordered_gelu",
     "q = QuantizeLinear(x, s, z)\no = com.microsoft.QOrderedGelu(q, s, s) {order_X=1, "
     "order_Y=1}\ny = DequantizeLinear(o, s, z)",
     "unknown-domain", "standard_operators", 0.1001},
    {"ordered_layer_norm",
     "const t: f32[] = [0.02]\nconst b: f32[4] = [1, 0.5, 0.25, 2]\nq = QuantizeLinear(x, s, z)\n"
     "o = com.microsoft.QOrderedLayerNormalization(q, s, b, s4, t)\ny = DequantizeLinear(o, t, z)",
     "unknown-domain", "standard_operators", 0.02001},
    {"ordered_attention",
     "const t: f32[] = [0.02]\nconst b: f32[4] = [1, -2, 0.5, 1]\nconst a: i64[3] = [1, 2, 4]\n"
     "const n: i64[2] = [2, 4]\nconst m: i32[1, 2] = [1, 1]\nr = Reshape(x, a)\n"
     "q = QuantizeLinear(r, s, z)\n"
     "o = com.microsoft.QOrderedAttention(q, s, s, s, s, w8, w8, w8, t, t, t, b, b, b, s, t, s, m) "
     "{num_heads=2, order_input=1, order_weight=0, order_output=1}\n"
     "d = DequantizeLinear(o, s, z)\ny = Reshape(d, n)",
     "unknown-domain", "standard_operators", 0.1001},
    {"axis_out_of_range", "d = DequantizeLinear(w8, s4, z4) {axis=2}\ny = MatMul(x, d)",
     "axis-range", "", -1, 17, "tensorrt-10", false, false},
    {"scales_of_another_count",
     "const t: f32[3] = [0.1, 0.2, 0.3]\nconst u: i8[3] = [0, 0, 0]\n"
     "d = DequantizeLinear(w8, t, u) {axis=1}\ny = MatMul(x, d)",
     "axis-channels", "", -1, 17, "tensorrt-10", false, false},
    {"blocked_int8_weight",
     "const t: f32[2, 4] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]\n"
     "const u: i8[2, 4] = [0, 0, 0, 0, 0, 0, 0, 0]\n"
     "d = DequantizeLinear(w8, t, u) {axis=0, block_size=2}\ny = MatMul(x, d)",
     "block-int8", "unblock_weight", 200, 21},
    {"int4_weight_for_tensorrt_8",
     "const v: i4[4, 4] = [-8, 7, 1, 2, 3, 4, 5, 6, 7, -1, -2, -3, -4, -5, -6, -7]\n"
     "const u: i4[] = [0]\nd = DequantizeLinear(v, s, u)\ny = MatMul(x, d)",
     "format-too-new", "symmetric_weight", 0, 21, "tensorrt-8.6"},
    {"int4_weight_of_odd_size",
     "const v: i4[4, 3] = [-8, 7, 1, 2, 3, 4, 5, 6, 7, -1, -2, -3]\n"
     "const u: i4[] = [0]\nd = DequantizeLinear(v, s, u)\ny = MatMul(x, d)",
     "int4-odd", "symmetric_weight", 0, 21, "tensorrt-10.1"},
};

} // namespace

std::span<const BadFile> bad_files() {
  return kFiles;
}

Graph parse_bad_file(const BadFile& file) {
  return parse_graph("graph g opset(\"\"=" + std::to_string(file.opset) +
                     ", \"com.microsoft\"=1)\n"
                     "input x: f32[2, 4]\n"
                     "const s: f32[] = [0.1]\n"
                     "const s4: f32[4] = [0.1, 0.2, 0.3, 0.4]\n"
                     "const z: i8[] = [0]\n"
                     "const z4: i8[4] = [0, 0, 0, 0]\n"
                     "const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, "
                     "16]\n"
                     "const w8: i8[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, "
                     "16]\n" +
                     std::string(file.body) + "\noutput y: f32[*]\n")
      .value();
}

} // namespace octet::test
