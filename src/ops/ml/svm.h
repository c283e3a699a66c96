// SPDX-License-Identifier: Apache-2.0
// The kernels of SVMClassifier and SVMRegressor (ai.onnx.ml): similarities of rows and vectors.
#pragma once

#include "ops/ml/row_model.h"

namespace octet::ml {

struct SvmKernel {
  enum class Kind { kLinear, kPoly, kRbf, kSigmoid };
  Kind kind = Kind::kLinear;
  double gamma = 0, offset = 0, degree = 0;

  /// x . v, (gamma x . v + offset)^degree, exp(-gamma |x - v|^2), tanh(gamma x . v + offset).
  double operator()(std::span<const double> x, std::span<const double> v) const;
};
/// kernel_type and kernel_params. Errors: a name that is none, too few parameters.
Result<SvmKernel> svm_kernel_of(const Node& node);

/// A list of floats as doubles.
std::vector<double> doubles_of(const Node& node, std::string_view attribute);
std::vector<double> doubles_of(const RowView& row);

} // namespace octet::ml
