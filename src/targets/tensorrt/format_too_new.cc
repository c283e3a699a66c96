// SPDX-License-Identifier: Apache-2.0
// Codes that a later version of TensorRT takes.
#include "core/format.h"
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void add(const CheckContext& context,
         const Node& node,
         DType codes,
         std::string_view since,
         Found& found) {
  if (qdq::written(context.graph, node).codes_type == codes)
    found.add(node, fmt::format("{} needs TensorRT {}", octet::name(codes), since), "use int8");
}

void find_fp8_too_new(const CheckContext& context, const Node& node, Found& found) {
  add(context, node, DType::kFloat8E4M3FN, "9", found);
}

void find_int4_too_new(const CheckContext& context, const Node& node, Found& found) {
  add(context, node, DType::kInt4, "10", found);
}

void find_fp4_too_new(const CheckContext& context, const Node& node, Found& found) {
  add(context, node, DType::kFloat4E2M1, "10.8", found);
}

} // namespace

constexpr TargetRule kFp8TooNew = {.id = "format-too-new",
                                   .clause = "1.2, 7",
                                   .versions = {.until = 899},
                                   .find = find_fp8_too_new};
constexpr TargetRule kInt4TooNew = {.id = "format-too-new",
                                    .clause = "7",
                                    .versions = {.until = 999},
                                    .find = find_int4_too_new,
                                    .mends = {Mend::kSymmetricWeight, Mend::kUnblockWeight}};
constexpr TargetRule kFp4TooNew = {
    .id = "format-too-new", .clause = "1.2", .versions = {.until = 1007}, .find = find_fp4_too_new};

} // namespace octet::tensorrt
