// SPDX-License-Identifier: Apache-2.0
#include "train/trainer/losses.h"

#include "train/ops/widened.h"
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/sub.h>

namespace octet::train {
namespace {

constexpr int64_t kSumOfLosses = 2; ///< at::Reduction::Sum

at::Tensor summed(LossKind kind, const at::Tensor& output, const at::Tensor& targets) {
  return kind == LossKind::kMeanSquare
             ? at::mse_loss(output, targets, kSumOfLosses)
             : at::binary_cross_entropy_with_logits(output, targets, {}, {}, kSumOfLosses);
}

/// What the rows should be: unit vectors of the labels, or the labels where there is one column.
at::Tensor wanted_rows(const at::Tensor& rows, const at::Tensor& labels) {
  if (rows.size(1) == 1) return labels.unsqueeze(1).to(rows.scalar_type());
  return at::eq(labels.unsqueeze(1), at::arange(rows.size(1), labels.options()))
      .to(rows.scalar_type());
}

/// Each row's share is the mean over its columns. A row that is ignored becomes one without loss,
/// whatever stands in it.
LossSum binary_or_square(LossKind kind,
                         const at::Tensor& rows,
                         const at::Tensor& targets,
                         const at::Tensor& ignored) {
  constexpr double kSurelyZero = -1e4; // a logit
  const at::Tensor column = ignored.unsqueeze(1);
  const at::Tensor due = wanted_rows(rows, targets.masked_fill(ignored, 0)).masked_fill(column, 0);
  const at::Tensor seen = rows.masked_fill(column, kind == LossKind::kMeanSquare ? 0 : kSurelyZero);
  LossSum out{summed(kind, seen, due) / rows.size(1), {}};
  const at::Tensor said = seen.detach();
  if (rows.size(1) == 1 && kind == LossKind::kMeanSquare) {
    out.correct = at::abs(at::sub(said, due)).sum();
    return out;
  }
  const at::Tensor met = rows.size(1) > 1 ? at::eq(at::argmax(said, 1), targets)
                                          : at::eq(at::gt(said, 0), at::gt(due, 0.5)).squeeze(1);
  out.correct = met.masked_fill(ignored, false).sum();
  return out;
}

} // namespace

std::string_view name_of(LossKind kind) {
  switch (kind) {
  case LossKind::kAuto:
    return "auto";
  case LossKind::kMeanSquare:
    return "mean-square";
  case LossKind::kBinaryCrossEntropy:
    return "binary-cross-entropy";
  default:
    return "cross-entropy";
  }
}

at::Tensor as_rows(const at::Tensor& output) {
  return widened(output.dim() == 2 ? output : output.reshape({-1, output.size(-1)}));
}

LossSum loss_of_classes(LossKind kind,
                        const at::Tensor& rows,
                        const at::Tensor& targets,
                        int64_t ignored_label,
                        double smoothing) {
  const at::Tensor ignored = at::eq(targets, ignored_label);
  if (kind != LossKind::kCrossEntropy) return binary_or_square(kind, rows, targets, ignored);
  const at::Tensor correct = at::eq(at::argmax(rows.detach(), 1), targets);
  return {
      at::cross_entropy_loss(rows, targets, std::nullopt, kSumOfLosses, ignored_label, smoothing),
      correct.masked_fill(ignored, false).sum()};
}

LossSum loss_of_numbers(LossKind kind, const at::Tensor& output, const at::Tensor& targets) {
  const at::Tensor said = widened(output).reshape({-1});
  const at::Tensor due = targets.reshape({-1}).to(said.scalar_type());
  LossSum out{summed(kind, said, due), {}};
  const at::Tensor seen = said.detach();
  out.correct = kind == LossKind::kMeanSquare ? at::abs(at::sub(seen, due)).sum()
                                              : at::eq(at::gt(seen, 0), at::gt(due, 0.5)).sum();
  return out;
}

} // namespace octet::train
