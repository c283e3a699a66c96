// SPDX-License-Identifier: Apache-2.0
// The scale of Q and DQ: what is wrong first is said, the parser looks no further.
#include <cmath>

#include "core/format.h"
#include "targets/shared_rules.h"
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

enum class Scale { kNone, kComputed, kHalf, kOtherType, kEmpty, kRead };

/// kNone: the node is no Q or DQ. kRead: the parser reads its values.
Scale scale_of(const CheckContext& context, const Node& node) {
  if (!is_qdq(node)) return Scale::kNone;
  const Tensor* scale = qdq::written(context.graph, node).scales;
  if (scale == nullptr) return Scale::kComputed;
  if (scale->type() == DType::kFloat16 && !context.at_least(1000)) return Scale::kHalf;
  if (!is_float(scale->type())) return Scale::kOtherType;
  return scale->count() == 0 ? Scale::kEmpty : Scale::kRead;
}

/// The first scale that is not positive, infinite, or subnormal.
std::optional<int64_t> odd_scale(const CheckContext& context, const Node& node) {
  if (scale_of(context, node) != Scale::kRead) return std::nullopt;
  const Tensor& scale = *qdq::written(context.graph, node).scales;
  for (int64_t i = 0; i < scale.count(); ++i) {
    const double s = scale.at(i);
    if (!(s > 0) || std::isinf(s) || !std::isnormal(static_cast<float>(s))) return i;
  }
  return std::nullopt;
}

constexpr std::string_view kBytesAsFloat =
    "TensorRT 8 reads the scale's bytes as float32 whatever their type";

void find_scale_shape(const CheckContext& context, const Node& node, Found& found) {
  if (scale_of(context, node) != Scale::kComputed) return;
  const TypeInfo& type = context.graph.value(qdq::written(context.graph, node).scale).type;
  if (!type.has_rank() || type.rank() != 1 || type.shape->front().maybe_value()) return;
  found.add(node,
            context.at_least(1010) ? "\"Invalid rank for the scale tensor. Rank = 1.\""
                                   : "\"Dynamic shape for scale tensor is not supported.\"",
            "make it an initializer");
}

void find_scale_not_constant(const CheckContext& context, const Node& node, Found& found) {
  if (scale_of(context, node) == Scale::kComputed)
    found.add(node, "the scale is computed: the parser takes it unchecked",
              "make it an initializer");
}

void find_scale_half(const CheckContext& context, const Node& node, Found& found) {
  if (scale_of(context, node) == Scale::kHalf)
    found.add(node, std::string(kBytesAsFloat), "store the scale as f32");
}

void find_scale_type(const CheckContext& context, const Node& node, Found& found) {
  if (scale_of(context, node) != Scale::kOtherType) return;
  const DType type = qdq::written(context.graph, node).scales->type();
  found.add(node,
            context.at_least(1000) ? "\"Scale coefficients must all be positive\""
                                   : std::string(kBytesAsFloat),
            fmt::format("the scale is {}; store it as f32", octet::name(type)));
}

void find_scale_empty(const CheckContext& context, const Node& node, Found& found) {
  if (scale_of(context, node) == Scale::kEmpty)
    found.add(node, "\"Cannot have scale with no coefficients.\"", "store at least one scale");
}

void find_scale_not_positive(const CheckContext& context, const Node& node, Found& found) {
  const auto odd = odd_scale(context, node);
  if (!odd) return;
  const Tensor& scale = *qdq::written(context.graph, node).scales;
  if (scale.at(*odd) > 0) return;
  found.add(node, "\"Scale coefficients must all be positive\"", fix_of_scale(node, scale, *odd));
}

void find_scale_not_normal(const CheckContext& context, const Node& node, Found& found) {
  const auto odd = odd_scale(context, node);
  if (!odd) return;
  const double s = qdq::written(context.graph, node).scales->at(*odd);
  if (s > 0)
    found.add(
        node,
        fmt::format("scale {} is {}; the parser takes it unchecked and divides by it", *odd, s),
        "use a finite scale that is not subnormal");
}

} // namespace

constexpr TargetRule kScaleShape = {
    .id = "scale-shape", .clause = "1.1 row 5, 7", .find = find_scale_shape};
constexpr TargetRule kScaleNotConstant = {.id = "scale-not-constant",
                                          .clause = "7",
                                          .severity = Severity::kWarning,
                                          .find = find_scale_not_constant,
                                          .mends = {Mend::kFoldParameter}};
constexpr TargetRule kScaleHalf = {.id = "scale-f16",
                                   .clause = "1.2",
                                   .versions = {.until = 999},
                                   .find = find_scale_half,
                                   .mends = {Mend::kConvertScale}};
constexpr TargetRule kScaleType = {.id = "scale-type",
                                   .clause = "1.1 row 4, 7",
                                   .find = find_scale_type,
                                   .mends = {Mend::kConvertScale}};
constexpr TargetRule kScaleEmpty = {
    .id = "scale-empty", .clause = "1.1 row 3", .find = find_scale_empty};
constexpr TargetRule kScaleNotPositive = {.id = "scale-not-positive",
                                          .clause = "1.1 row 4",
                                          .find = find_scale_not_positive,
                                          .mends = {Mend::kReplaceScale}};
constexpr TargetRule kScaleNotNormal = {.id = "scale-not-normal",
                                        .clause = "7",
                                        .find = find_scale_not_normal,
                                        .mends = {Mend::kReplaceScale}};

} // namespace octet::tensorrt
