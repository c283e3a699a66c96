// SPDX-License-Identifier: Apache-2.0
// The losses: sums over a batch, with what is counted beside them.
#pragma once

#include <cstdint>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "octet/train_options.h"

namespace octet::train {

/// A loss over a batch, differentiable, and how many labels were met, or how far off the numbers
/// were all together.
struct LossSum {
  at::Tensor loss, correct;
};

/// `cross-entropy`, as --loss and models say it.
std::string_view name_of(LossKind kind);

/// [rows, classes] of an output with any leading axes, in f32 at least, as losses are computed.
at::Tensor as_rows(const at::Tensor& output);

/// Of rows against the classes i64[rows], but for those of `ignored_label`. An output of one column
/// is held against the label itself where the loss is not cross-entropy.
LossSum loss_of_classes(LossKind kind,
                        const at::Tensor& rows,
                        const at::Tensor& targets,
                        int64_t ignored_label,
                        double smoothing);

/// Of each number against its own target, whatever the axes.
LossSum loss_of_numbers(LossKind kind, const at::Tensor& output, const at::Tensor& targets);

} // namespace octet::train
