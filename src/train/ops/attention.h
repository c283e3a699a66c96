// SPDX-License-Identifier: Apache-2.0
// What the forms of attention share.
#pragma once

#include "train/ops/mapping.h"

namespace octet::train {

/// [B, H, S, D] of [B, S, H * D].
at::Tensor split_heads(const at::Tensor& x, int64_t heads);
/// [B, S, H * D] of [B, H, S, D].
at::Tensor joined_heads(const at::Tensor& x);

/// Where a bias is -infinity for all keys; undefined for no bias.
at::Tensor blind_rows(const at::Tensor& bias);

/// The bias, or zeros where there is none, with `score` where `hidden`: four axes, which broadcast.
at::Tensor with_hidden(const at::Tensor& bias,
                       at::Tensor hidden,
                       double score,
                       const at::TensorOptions& options);
/// With axes of 1 in front.
at::Tensor four_axes(at::Tensor x);

/// softmax(scale q k^T + bias) v of [B, H, S, D]; the bias, where there is one, has four axes and
/// broadcasts to the scores. A row that is blind gives zeros and passes no gradient. `causal`: query
/// i sees keys 0 to i, without a bias.
at::Tensor attended(const at::Tensor& q,
                    const at::Tensor& k,
                    const at::Tensor& v,
                    at::Tensor bias,
                    double scale,
                    bool causal = false);

} // namespace octet::train
