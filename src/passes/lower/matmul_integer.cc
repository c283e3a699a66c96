// SPDX-License-Identifier: Apache-2.0
// MatMulInteger with constant u8 weights that fit no int8 around their zero point: int8 weights with
// a column that sums x up (int8_weights.h). Others stay; kernels take them as they are.
#include "passes/lower/int8_weights.h"

namespace octet::lowering {

Result<bool> lower_matmul_integer(Context& c, const Node& node) {
  if (!node.is("MatMulInteger") || !c.integer()) return false;
  const TypeInfo& x = c.in().value(node.input(0)).type;
  const Tensor* w = c.in().constant(node.input(1));
  const Tensor* zero = node.input(3).valid() ? c.in().constant(node.input(3)) : nullptr;
  if (!x.has_rank() || w == nullptr || w->rank() != 2 || zero == nullptr ||
      w->dim(0) > kMostIntegerTerms)
    return false;
  constexpr int64_t kTurned[] = {1, 0};
  const auto weights = int8_weights(permuted(*w, kTurned), zero, true);
  if (!weights || weights->left.empty()) return false;
  Node made = node;
  made.origin = {node.name};
  made.inputs = {c.plain(node.input(0)).id,
                 c.out().add_constant(node.name + "/weights", permuted(weights->codes, kTurned))};
  if (node.input(2).valid()) made.inputs.push_back(c.plain(node.input(2)).id);
  const std::string& name = c.in().value(node.outputs[0]).name;
  made.outputs = {c.out().add_value(name + "/sums")};
  const ValueId sums = made.outputs[0];
  c.out().add_node(std::move(made));
  c.source(node.outputs[0]).real = Form{without_left(c, node, sums, *weights, x.rank())};
  c.note(node, LowerForm::kIntegers, "MatMulInteger");
  return true;
}

} // namespace octet::lowering
