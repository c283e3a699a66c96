// SPDX-License-Identifier: Apache-2.0
// Constant (opset 1). The tensor in its one attribute: value, or (opset 12) value_int, value_ints,
// value_float, value_floats, value_string, value_strings.
#include "core/format.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_Constant {
namespace {

/// The tensor that the attributes hold.
Result<Tensor> parse(const Node& node) {
  if (const Attribute* a = node.attr("value")) {
    if (const auto* t = std::get_if<Tensor>(&a->value)) return *t;
    return error("value is no tensor; store one");
  }
  if (node.has_attr("value_int")) return Tensor::scalar<int64_t>(node.attr_int("value_int", 0));
  if (node.has_attr("value_float")) return Tensor::scalar<float>(node.attr_float("value_float", 0));
  if (node.has_attr("value_string"))
    return Tensor::strings({}, {node.attr_string("value_string", "")});
  if (node.has_attr("value_ints")) {
    const auto v = node.attr_ints("value_ints");
    return Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v);
  }
  if (node.has_attr("value_floats")) {
    const auto v = node.attr_floats("value_floats");
    return Tensor::of<float>({static_cast<int64_t>(v.size())}, v);
  }
  if (const Attribute* a = node.attr("value_strings"))
    if (const auto* v = std::get_if<std::vector<std::string>>(&a->value))
      return Tensor::strings({static_cast<int64_t>(v->size())}, *v);
  return error(ErrorCode::kUnsupported,
               "the node holds no dense tensor; store its value in the attribute value");
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  const Tensor value = OCTET_TRY(parse(ctx.node));
  auto outputs = one(tensor_type(value.type(), value.shape()));
  InputInfo known;
  known.present = true;
  known.constant = &value;
  set_value(outputs[0], known_dims(known));
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return one(OCTET_TRY(parse(ctx.node)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Constant
