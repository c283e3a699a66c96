// SPDX-License-Identifier: Apache-2.0
// The candidates of the kernel table, one file each in this folder.
#pragma once

#include "runtime/step.h"

namespace octet::runtime {

PrepareFn prepare_add_codes;
PrepareFn prepare_arg_best;
PrepareFn prepare_attention;
PrepareFn prepare_average_pool;
PrepareFn prepare_cast;
PrepareFn prepare_classify;
PrepareFn prepare_coded_gemm;
PrepareFn prepare_compare;
PrepareFn prepare_concat;
PrepareFn prepare_conv;
PrepareFn prepare_conv_integer;
PrepareFn prepare_conv_transpose;
PrepareFn prepare_depth_to_space;
PrepareFn prepare_native_depth_to_space;
PrepareFn prepare_decode_fp8;
PrepareFn prepare_dequantize;
PrepareFn prepare_dft;
PrepareFn prepare_dynamic_quantize;
PrepareFn prepare_encode_fp8;
PrepareFn prepare_expand;
PrepareFn prepare_gather;
PrepareFn prepare_gather_elements;
PrepareFn prepare_gather_nd;
PrepareFn prepare_gemm;
PrepareFn prepare_grid_sample;
PrepareFn prepare_group_norm;
PrepareFn prepare_integer_binary;
PrepareFn prepare_integer_unary;
PrepareFn prepare_layer_norm;
PrepareFn prepare_logic;
PrepareFn prepare_lp_pool;
PrepareFn prepare_map;
PrepareFn prepare_matmul;
PrepareFn prepare_matmul_integer;
PrepareFn prepare_max_pool;
PrepareFn prepare_max_pool_places;
PrepareFn prepare_max_unpool;
PrepareFn prepare_nonzero;
PrepareFn prepare_not;
PrepareFn prepare_one_hot;
PrepareFn prepare_pad;
PrepareFn prepare_positions;
PrepareFn prepare_pow;
PrepareFn prepare_qaverage_pool;
PrepareFn prepare_qconv;
PrepareFn prepare_qdynamic_gemm;
PrepareFn prepare_qscaled_gemm;
PrepareFn prepare_qgemm;
PrepareFn prepare_qlstm;
PrepareFn prepare_qmap;
PrepareFn prepare_qmatmul;
PrepareFn prepare_quantize;
PrepareFn prepare_range;
PrepareFn prepare_recur;
PrepareFn prepare_reduce;
PrepareFn prepare_remainder;
PrepareFn prepare_resize;
PrepareFn prepare_reverse_sequence;
PrepareFn prepare_roi_align;
PrepareFn prepare_running;
PrepareFn prepare_row_model;
PrepareFn prepare_scatter_elements;
PrepareFn prepare_scatter_nd;
PrepareFn prepare_segment_sum;
PrepareFn prepare_slice;
PrepareFn prepare_softmax;
PrepareFn prepare_space_to_depth;
PrepareFn prepare_split;
PrepareFn prepare_stft;
PrepareFn prepare_table;
PrepareFn prepare_tile;
PrepareFn prepare_top_k;
PrepareFn prepare_transpose;
PrepareFn prepare_trilu;
PrepareFn prepare_where;

} // namespace octet::runtime
