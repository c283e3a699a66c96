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

/// [N, C, H, W] to [N, C*H*W] with known C, H and W.
bool flattens_image(const Context& c, const Node& node) {
  if (!node.is("Flatten") && !node.is("Reshape")) return false;
  const TypeInfo& x = c.in().value(node.input(0)).type;
  const TypeInfo& y = c.in().value(node.outputs[0]).type;
  if (!x.has_rank() || !y.has_rank() || x.rank() != 4 || y.rank() != 2) return false;
  const auto& d = *x.shape;
  if (!d[1].is_constant() || !d[2].is_constant() || !d[3].is_constant()) return false;
  return (*y.shape)[1] == d[1] * d[2] * d[3];
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
  Layout layout = Layout::kPlain;
  if (from.layout == Layout::kNhwc && flattens_image(c, node)) {
    const auto& d = *c.in().value(x).type.shape;
    made.op_type = "Reshape";
    made.attributes.clear();
    const int64_t columns = d[1].value() * d[2].value() * d[3].value();
    const ValueId shape =
        c.out().add_constant(node.name + "/shape", Tensor::of<int64_t>({2}, {-1, columns}));
    made.inputs = {from.id, shape};
    layout = Layout::kFlatNhwc;
  } else if (node.is("Identity")) {
    made.inputs = {from.id};
    layout = from.layout;
  } else {
    if (from.layout != Layout::kPlain) {
      if (codes) return false; // the default dequantizes and brings it back to order
      from = c.plain(x);
    }
    made.inputs[0] = from.id;
    for (size_t i = 1; i < made.inputs.size(); ++i)
      if (node.inputs[i].valid()) made.inputs[i] = c.plain(node.inputs[i]).id;
  }
  const Form result{c.emit(std::move(made), c.in().value(y).name), layout};
  if (codes)
    c.set_codes(y, result, c.source(x).quant);
  else
    c.source(y).real = result;
  c.note(node, codes ? node.op_type + " on codes" : node.op_type);
  return true;
}

} // namespace octet::lowering
