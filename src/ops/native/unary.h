// SPDX-License-Identifier: Apache-2.0
// Functions of one float tensor in octet.native, from the scalars of core/numerics/math.h.
#pragma once

#include <algorithm>

#include "ops/native/epilogue.h"

namespace octet::native {

inline Result<std::vector<OutputInfo>> infer_float(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kF32));
  return one(c.input(0).type);
}

/// y = f(x), after `infer`.
template <class F>
Result<std::vector<Tensor>> map_float(const EvalContext& c, InferFn* infer, F f) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto x = OCTET_TRY(c.inputs[0].to_floats());
  std::transform(x.begin(), x.end(), y.mutable_data<float>().begin(), f);
  return one(std::move(y));
}

/// The same as a facet.
template <float (*kFn)(float)>
Result<std::vector<Tensor>> eval_float(const EvalContext& c) {
  return map_float(c, infer_float, kFn);
}

} // namespace octet::native
