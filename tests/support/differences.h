// SPDX-License-Identifier: Apache-2.0
// What a gradient is held against: differences of a sum of an executor's outputs times fixed numbers.
#pragma once

#include <span>
#include <vector>

#include "core/philox.h"

#include "octet/executor.h"

namespace octet::test {

inline Tensor random_tensor(const Shape& shape, double low, double high, uint64_t stream) {
  Tensor t = Tensor::zeros(DType::kFloat64, shape).value();
  Philox random(11, stream);
  for (double& v : t.mutable_data<double>())
    v = random.uniform(low, high);
  return t;
}

inline double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i)
    sum += a.at(i) * b.at(i);
  return sum;
}

/// `x` (f64) with `change` added to one element.
inline Tensor moved(const Tensor& x, int64_t element, double change) {
  Tensor out = x.clone();
  out.mutable_data<double>()[static_cast<size_t>(element)] += change;
  return out;
}

/// What `weights` make of the outputs of a run; an empty one leaves its output out.
inline Result<double>
weighted_sum(Executor& executor, std::span<const Tensor> inputs, std::span<const Tensor> weights) {
  const std::vector<Tensor> outputs = OCTET_TRY(executor.run(inputs));
  double sum = 0;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!weights[i].empty()) sum += dot(outputs[i], weights[i]);
  return sum;
}

} // namespace octet::test
