// SPDX-License-Identifier: Apache-2.0
// The repairs, one file each. Each file starts with a drawing of what it does and says whether
// numbers change.
#pragma once

#include "targets/repair/rule.h"

namespace octet {

RepairFn add_zero_point;
RepairFn clip_codes;
RepairFn convert_scale;
RepairFn decompose_input;
RepairFn drop_cast;
RepairFn drop_output_type;
RepairFn drop_kept_output_type;
RepairFn dynamic_gemm;
RepairFn dynamic_quantize;
RepairFn dynamic_quantize_matmul;
RepairFn float_attention;
RepairFn float_input;
RepairFn float_product;
RepairFn float_weight;
RepairFn fold_bias;
RepairFn fold_misread_bias;
RepairFn fold_row;
RepairFn fold_codes;
RepairFn fold_parameter;
RepairFn integer_product;
RepairFn matmul_integer_to_float;
RepairFn match_zero_point;
RepairFn merge_quantize;
RepairFn move_codes;
RepairFn place_attention;
RepairFn qgemm;
RepairFn qoperator_without_kernel;
RepairFn qlinear_conv;
RepairFn qlinear_matmul;
RepairFn qlinear_pointwise;
RepairFn qlinear_pool;
RepairFn replace_scale;
RepairFn scalar_parameter;
RepairFn scale_query;
RepairFn separate_constants;
RepairFn set_axis;
RepairFn single_zero_point;
RepairFn shift_activation;
RepairFn shift_table;
RepairFn split_quantize;
RepairFn standard_domain;
RepairFn standard_operators;
RepairFn store_weight;
RepairFn symmetric_activation;
RepairFn symmetric_weight;
RepairFn unblock_weight;
RepairFn unify_concat;
RepairFn unify_quantize;
RepairFn unknown_operators; ///< what octet cannot run, whatever the target does
RepairFn unsign_moved;
RepairFn widen_concat;

} // namespace octet
