// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/svm.h"

#include <cmath>

#include "core/format.h"

namespace octet::ml {

double SvmKernel::operator()(std::span<const double> x, std::span<const double> v) const {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i)
    sum += kind == Kind::kRbf ? (x[i] - v[i]) * (x[i] - v[i]) : x[i] * v[i];
  switch (kind) {
  case Kind::kLinear:
    break;
  case Kind::kPoly:
    return std::pow(gamma * sum + offset, degree);
  case Kind::kRbf:
    return std::exp(-gamma * sum);
  case Kind::kSigmoid:
    return std::tanh(gamma * sum + offset);
  }
  return sum;
}

Result<SvmKernel> svm_kernel_of(const Node& node) {
  const std::string text = node.attr_string("kernel_type", "LINEAR");
  SvmKernel out;
  if (text == "POLY")
    out.kind = SvmKernel::Kind::kPoly;
  else if (text == "RBF")
    out.kind = SvmKernel::Kind::kRbf;
  else if (text == "SIGMOID")
    out.kind = SvmKernel::Kind::kSigmoid;
  else if (text != "LINEAR")
    return error("kernel_type is \"{}\"; use LINEAR, POLY, RBF or SIGMOID", text);
  const auto parameters = doubles_of(node, "kernel_params");
  if (parameters.size() >= 3) {
    out.gamma = parameters[0];
    out.offset = parameters[1];
    out.degree = parameters[2];
  } else if (out.kind != SvmKernel::Kind::kLinear) {
    return error("kernel_params has {} elements; give gamma, coef0 and degree", parameters.size());
  }
  return out;
}

std::vector<double> doubles_of(const Node& node, std::string_view attribute) {
  const std::vector<float> list = node.attr_floats(attribute);
  return {list.begin(), list.end()};
}

std::vector<double> doubles_of(const RowView& row) {
  std::vector<double> out(row.size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = row[i];
  return out;
}

} // namespace octet::ml
