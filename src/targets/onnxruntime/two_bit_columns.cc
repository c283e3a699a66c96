// SPDX-License-Identifier: Apache-2.0
// A weight of 2 bits behind DQ that ONNX Runtime turns for MatMulNBits: where its columns are no
// multiple of 4, whose codes make a byte, what it multiplies is not what the file holds, and another
// thing in each session. Source: docs/targets.md 8 (measured).
#include "core/format.h"
#include "core/string_util.h"
#include "ops/qdq/site.h"
#include "targets/checks.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

namespace {

constexpr int64_t kCodesOfAByte = 4;
constexpr int kTwoBitsSince = 125; ///< earlier releases compute such products in float

} // namespace

std::optional<MisreadCodes>
onnxruntime_misread_columns(const Graph& graph, const TargetDef& target, const Node& node) {
  if (is_cuda(target) || target.version < kTwoBitsSince || (!node.is("MatMul") && !node.is("Gemm")))
    return std::nullopt;
  const Node* weight = graph.producer(node.input(1));
  if (weight == nullptr || !is_dequantize(*weight) ||
      bits(graph.value(weight->input(0)).type.type) != 2)
    return std::nullopt;
  const TypeInfo& type = graph.value(node.input(1)).type;
  const auto columns = type.has_rank() && type.rank() == 2 ? (*type.shape)[1].maybe_value()
                                                           : std::optional<int64_t>();
  if (!columns || *columns % kCodesOfAByte == 0) return std::nullopt;
  if (onnxruntime_form(graph, target, node) != OnnxRuntimeForm::kMatMulNBits) return std::nullopt;
  return MisreadCodes{.dequantize = weight, .input = 1, .said = counted(*columns, "column")};
}

namespace onnxruntime {

namespace {

void find_two_bit_columns(const CheckContext& context, const Node& node, Found& found) {
  const auto misread = onnxruntime_misread_columns(context.graph, context.target, node);
  if (!misread) return;
  found.add(
      node,
      fmt::format("ONNX Runtime makes it MatMulNBits and misreads a weight of 2 bits whose "
                  "columns are no multiple of 4: this has {}, and what comes out is another "
                  "thing in each session",
                  misread->said),
      "part the weight's DQ from it by a Max of one input, as octet repair does, or store the "
      "weight in 4 bits");
}

} // namespace

constexpr TargetRule kTwoBitColumns = {.id = "two-bit-columns",
                                       .clause = "8",
                                       .versions = {.since = kTwoBitsSince},
                                       .provider = Provider::kCpu,
                                       .find = find_two_bit_columns,
                                       .mends = {Mend::kHideCodes}};

} // namespace onnxruntime
} // namespace octet
