// SPDX-License-Identifier: Apache-2.0
// Data movement runs on codes as it does on numbers:
//   DQ ─ Flatten ─ ...    becomes Flatten on codes, dequantized later where someone needs numbers
// Flattening an NHWC image keeps its order; the product behind it turns its weights instead.
#include <algorithm>
#include <array>

#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

constexpr std::array<std::string_view, 8> kMoves = {"Reshape",   "Flatten",  "Squeeze", "Unsqueeze",
                                                    "Transpose", "Identity", "Slice",   "Expand"};

/// [C, H, W] where the node turns [N, C, H, W] to [N, C*H*W].
std::optional<std::array<int64_t, 3>> flattened_image(const Context& c, const Node& node) {
  if (!node.is("Flatten") && !node.is("Reshape")) return std::nullopt;
  const TypeInfo& y = c.in().value(node.outputs[0]).type;
  const auto image = known_image(c.in().value(node.input(0)).type);
  if (!image || !y.has_rank() || y.rank() != 2) return std::nullopt;
  const Dim columns = Dim((*image)[0]) * Dim((*image)[1]) * Dim((*image)[2]);
  return (*y.shape)[1] == columns ? image : std::nullopt;
}

} // namespace

Result<bool> lower_movement(Context& c, const Node& node) {
  if (!node.domain.empty() || std::find(kMoves.begin(), kMoves.end(), node.op_type) == kMoves.end())
    return false;
  const ValueId x = node.input(0), y = node.outputs[0];
  const std::optional<Form> codes = c.codes(x);
  if (!codes && !c.source(x).real) return false;
  Form from = codes ? *codes : *c.source(x).real;
  Node made = node;
  made.outputs.clear();
  made.origin = {node.name};
  Form result;
  const auto image = from.layout == Layout::kNhwc ? flattened_image(c, node) : std::nullopt;
  if (image) {
    made.op_type = "Reshape";
    made.attributes.clear();
    const int64_t columns = (*image)[0] * (*image)[1] * (*image)[2];
    const ValueId shape =
        c.out().add_constant(node.name + "/shape", Tensor::of<int64_t>({2}, {-1, columns}));
    made.inputs = {from.id, shape};
    result = {{}, Layout::kFlatNhwc, *image};
  } else if (node.is("Identity")) {
    made.inputs = {from.id};
    result = from;
  } else {
    if (from.layout != Layout::kPlain) {
      if (codes) return false; // the default dequantizes and brings it back to order
      from = c.plain(x);
    }
    made.inputs[0] = from.id;
    for (size_t i = 1; i < made.inputs.size(); ++i)
      if (node.inputs[i].valid()) made.inputs[i] = c.plain(node.inputs[i]).id;
  }
  result.id = c.emit(std::move(made), c.in().value(y).name);
  if (codes)
    c.set_codes(y, result, c.source(x).quant);
  else
    c.source(y).real = result;
  if (codes)
    c.note(node, LowerForm::kCodes, node.op_type + " on codes");
  else
    c.note(node, LowerForm::kFloat, node.op_type);
  return true;
}

} // namespace octet::lowering
