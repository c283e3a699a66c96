// SPDX-License-Identifier: Apache-2.0
// Rules that lowering runs first: chains of small operators that are one operator of octet.native,
// operators that are several, quantizers that move to where codes can be made, and lines and volumes
// that are images.
#pragma once

#include "passes/rewrite.h"

namespace octet::lowering {

RuleFn cancel_height;
RuleFn clip_before_quantizing;
RuleFn clip_by_number;
RuleFn decompose_batch_norm;
RuleFn decompose_dynamic_lstm;
RuleFn decompose_einsum;
RuleFn decompose_hardmax;
RuleFn decompose_log_softmax;
RuleFn decompose_lp_normalization;
RuleFn decompose_lrn;
RuleFn decompose_mean_variance;
RuleFn decompose_scaler;
RuleFn dequantize_by_arithmetic;
RuleFn divide_by_scales;
RuleFn fake_quantize;
RuleFn flatten_layer_norm;
RuleFn fuse_gelu;
RuleFn fuse_group_norm;
RuleFn fuse_layer_norm;
RuleFn fuse_scaled_product;
RuleFn lines_to_images;
RuleFn multiply_matrices;
RuleFn order_depth;
RuleFn quantize_before_joining;
RuleFn quantize_before_moving;
RuleFn quantize_before_pooling;
RuleFn quantize_unrounded;
RuleFn resize_bytes;
RuleFn scale_by_quantizing;
RuleFn scale_coded_product;
RuleFn scale_depthwise_weights;
RuleFn scale_float_product;
RuleFn sink_squeeze;
RuleFn split_gemm;
RuleFn store_matmul_nbits;
RuleFn sum_inputs_of_codes;
RuleFn turn_stored;
RuleFn volume_conv_to_images;
RuleFn volume_conv_transpose;
RuleFn volume_pool_to_images;
RuleFn widen_few_bits;

} // namespace octet::lowering
