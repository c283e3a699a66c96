// SPDX-License-Identifier: Apache-2.0
// MelWeightMatrix (opset 17). y: [dft_length / 2 + 1, num_mel_bins]: triangles over the frequencies
// of a transform, their corners equally spaced on the mel scale 2595 log10(1 + f / 700) between two
// edges. A triangle whose left side is empty has 1 at its center.
#include <cmath>

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_MelWeightMatrix {
namespace {

constexpr int64_t kMost = int64_t{1} << 13;

Result<DType> output_type(const Node& node) {
  const int64_t code = node.attr_int("output_datatype", static_cast<int64_t>(DType::kFloat32));
  if (code < 1 || code > INT32_MAX || !is_valid(static_cast<int32_t>(code)) ||
      !kNumericTypes.has(static_cast<DType>(code)))
    return error("output_datatype is {}; it must be a numeric type of TensorProto", code);
  return static_cast<DType>(code);
}

Result<Dim> size_of(const InputInfo& input, std::string_view what) {
  const auto known = known_ints(input);
  if (!known || known->size() != 1) return Dim::unknown();
  if ((*known)[0] < 1 || (*known)[0] > kMost)
    return error("{} is {}; use 1 to {}", what, (*known)[0], kMost);
  return Dim((*known)[0]);
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 5, 5));
  for (size_t i = 0; i < 5; ++i) {
    OCTET_TRY(check_input(ctx, i, i < 3 ? kIndexTypes : kFloatTypes));
    OCTET_TRY(check_scalar(ctx, i));
  }
  const Dim bins = OCTET_TRY(size_of(ctx.input(0), "num_mel_bins"));
  const Dim length = OCTET_TRY(size_of(ctx.input(1), "dft_length"));
  OCTET_TRY(size_of(ctx.input(2), "sample_rate"));
  return one(
      OCTET_TRY(output_type(ctx.node)),
      std::vector<Dim>{length.is_constant() ? Dim(length.value() / 2 + 1) : Dim::unknown(), bins});
}

double mel(double hertz) {
  return 2595 * std::log10(1 + hertz / 700);
}
double hertz(double mel) {
  return 700 * (std::pow(10, mel / 2595) - 1);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const int64_t rows = shape[0], bins = shape[1];
  const double low = mel(ctx.inputs[3].at(0)), high = mel(ctx.inputs[4].at(0));
  const double step = (high - low) / static_cast<double>(bins + 2);
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double f = hertz(low + step * static_cast<double>(i));
    const double row = std::floor((ctx.inputs[1].at(0) + 1) * f / ctx.inputs[2].at(0));
    if (!(row >= 0 && row < static_cast<double>(rows)))
      return error("the edge at {} Hz lies outside of the {} frequencies of the transform", f,
                   rows);
    corners.push_back(static_cast<int64_t>(row));
  }
  std::vector<double> y(static_cast<size_t>(rows * bins));
  for (int64_t b = 0; b < bins; ++b) {
    const auto* corner = corners.data() + b;
    const auto at = [&](int64_t row) -> double& { return y[static_cast<size_t>(row * bins + b)]; };
    if (corner[0] == corner[1]) at(corner[1]) = 1;
    for (int64_t row = corner[0]; corner[0] < corner[1] && row <= corner[1]; ++row)
      at(row) = static_cast<double>(row - corner[0]) / static_cast<double>(corner[1] - corner[0]);
    for (int64_t row = corner[1]; row < corner[2]; ++row)
      at(row) = static_cast<double>(corner[2] - row) / static_cast<double>(corner[2] - corner[1]);
  }
  const DType type = OCTET_TRY(output_type(ctx.node));
  return one(OCTET_TRY(rounded(type, shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 17,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_MelWeightMatrix
