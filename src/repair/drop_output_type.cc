// SPDX-License-Identifier: Apache-2.0
//   Q {output_dtype, precision}  =>  Q, the zero point saying the type
//   DQ {output_dtype}            =>  DQ, followed by a Cast where the scale has another type
// Exact, but for the Cast (a second rounding) and a precision other than the scale's type.
// Source: docs/targets.md 1.1 rows 8, 9 and 14, and 7.
#include <algorithm>

#include "core/format.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

std::optional<Repair> drop_output_type(const RepairContext& context, const Node& node) {
  const bool precision = is_quantize(node) && node.has_attr("precision");
  const qdq::Written said = qdq::written(context.graph, node);
  if (!said.zero.valid() || !(node.has_attr("output_dtype") || precision)) return std::nullopt;
  const DType scale = context.graph.value(said.scale).type.type;
  const auto out = static_cast<DType>(node.attr_int("output_dtype", 0));
  const bool casts = is_dequantize(node) && out != DType::kUndefined && out != scale;
  const auto computed = static_cast<DType>(node.attr_int("precision", 0));
  const bool rounds = casts || (computed != DType::kUndefined && computed != scale);
  Patch patch(context.graph,
              casts ? fmt::format("output_dtype {} becomes a Cast", octet::name(out))
                    : "attributes that say the type again are removed",
              rounds ? Exactness::kRounding : Exactness::kExact);
  patch.from(node);
  Attributes attributes = node.attributes;
  attributes.erase("output_dtype");
  attributes.erase("precision");
  ValueId y = patch.emit(node.op_type, node.inputs, std::move(attributes), node.name, node.domain);
  if (casts) {
    Attributes to;
    to["to"].value = static_cast<int64_t>(out);
    y = patch.emit("Cast", {y}, std::move(to), node.name + "_cast");
  }
  patch.replace(node.output(0), y);
  Repair repair{std::move(patch)};
  if (rounds) {
    const Tensor* scales = qdq::written(context.graph, node).scales;
    double largest = 0;
    for (int64_t i = 0; scales != nullptr && i < scales->count(); ++i)
      largest = std::max(largest, scales->at(i));
    // One code, or the rounding of 256 codes to 8 bits of mantissa: at most a step each.
    repair.max_error = scales == nullptr ? std::nullopt : std::optional(largest);
  }
  return repair;
}

std::optional<Repair> drop_kept_output_type(const RepairContext& context, const Node& node) {
  if (is_cuda(context.target) || !onnxruntime_keeps_output_type(context.graph, context.uses, node))
    return std::nullopt;
  return drop_output_type(context, node);
}

} // namespace octet
