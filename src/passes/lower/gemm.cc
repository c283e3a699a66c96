// SPDX-License-Identifier: Apache-2.0
// Gemm and MatMul with constant weights:
//   DQ ─ Gemm(DQ weights, bias) ─ epilogue                 becomes QGemm
//   DQ ─ MatMul(DQ weights) ─ [Add constant] ─ epilogue    becomes QGemm
// and the float forms native Gemm, or CodedGemm where DQ makes their weights. MatMul of two
// activations, or of one and several constant matrices, becomes QMatMul or native MatMul.
#include <algorithm>
#include <array>

#include "graph/domains.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

constexpr int64_t kTurn[] = {1, 0};

/// Weights of a product over a stored [N, H*W*C] input: columns in that order. `w` is [N, C*H*W].
Tensor columns_to_hwc(const Tensor& w, const std::array<int64_t, 3>& image) {
  const auto [c, h, x] = image;
  const Tensor four = w.reshaped({w.dim(0), c, h, x}).value();
  return permuted(four, std::array<int64_t, 4>{0, 2, 3, 1}).reshaped({w.dim(0), c * h * x}).value();
}

/// The constant of an Add that is the only consumer and adds along the last axis.
std::optional<Tensor> bias_of_add(const Context& c, ValueId y, int64_t columns, NodeId& add) {
  add = c.uses().single_consumer(y);
  if (!add.valid() || c.done(add) || !c.in().node(add).is("Add")) return std::nullopt;
  const Node& node = c.in().node(add);
  const ValueId other = node.inputs[0] == y ? node.inputs[1] : node.inputs[0];
  std::optional<Tensor> t = other == y ? std::nullopt : c.constant(other);
  if (!t || t->type() != DType::kFloat32 || t->count() != columns || t->rank() == 0)
    return std::nullopt;
  if (t->shape().back() != columns || t->rank() > c.in().value(y).type.rank()) return std::nullopt;
  return t->reshaped({columns}).value();
}

/// The right operand of a float MatMul. A Transpose that makes the last axis of its input the one
/// that is summed moves nothing: the product takes it turned.
ValueId right_operand(Context& c, const Node& node, Node& made) {
  const ValueId b = node.input(1);
  const Node* turn = c.in().producer(b);
  if (turn == nullptr || !turn->is("Transpose")) return c.plain(b).id;
  const int64_t rank = c.in().value(b).type.rank();
  std::vector<int64_t> perm = turn->attr_ints("perm");
  if (perm.empty())
    for (int64_t i = rank; i > 0; --i)
      perm.push_back(i - 1);
  if (rank < 2 || *(perm.end() - 2) != rank - 1) return c.plain(b).id;
  made.set("trans_b", int64_t{1});
  std::swap(perm.back(), *(perm.end() - 2));
  const ValueId from = c.plain(turn->input(0)).id;
  if (std::is_sorted(perm.begin(), perm.end())) return from;
  Attributes attributes;
  attributes["perm"].value = std::move(perm);
  return c.out().emit("Transpose", {from}, std::move(attributes), c.in().value(b).name + "/turned");
}

/// An operand of QMatMul: codes with one scale in the source's order.
struct CodedOperand {
  ValueId codes;
  qdq::Grid quant;
};
std::optional<CodedOperand> coded_operand(Context& c, ValueId id) {
  if (c.codes(id)) return CodedOperand{c.codes_plain(id).id, c.source(id).quant};
  if (!c.integer()) return std::nullopt;
  const auto site = qdq::read_dequantize(c.in(), id, kForKernels);
  const auto stored = site ? qdq::stored_codes(c.in(), id) : site.why();
  if (!stored) return std::nullopt;
  return CodedOperand{c.out().add_constant(c.in().value(id).name + "/codes", stored->codes),
                      stored->grid};
}

/// Matrix times matrix, as many of each as there are; one may be constant.
Result<bool> lower_activations(Context& c, const Node& node) {
  const bool any = c.codes(node.input(0)) || c.codes(node.input(1));
  const auto a = any ? coded_operand(c, node.input(0)) : std::nullopt;
  const auto b = a ? coded_operand(c, node.input(1)) : std::nullopt;
  Node made;
  made.name = node.name;
  made.domain = kNative;
  made.origin = {node.name};
  if (!a || !b) {
    made.op_type = "MatMul";
    made.inputs = {c.plain(node.input(0)).id, right_operand(c, node, made)};
    c.note(node, LowerForm::kFloat, "MatMul", "an operand is not quantized");
    c.source(node.outputs[0]).real =
        Form{c.emit(std::move(made), c.in().value(node.outputs[0]).name)};
    return true;
  }
  const Epilogue e = c.epilogue(node.outputs[0], false);
  made.op_type = "QMatMul";
  made.inputs = {a->codes, b->codes};
  const double out = e.to == DType::kFloat32 ? 1.0 : static_cast<double>(e.quant.one_scale());
  made.set("multiplier", static_cast<float>(static_cast<double>(a->quant.one_scale()) *
                                            static_cast<double>(b->quant.one_scale()) / out));
  made.set("a_zero_point", a->quant.one_zero());
  made.set("b_zero_point", b->quant.one_zero());
  c.set_attributes(made, e);
  const ValueId named = e.quantizers.empty() ? e.end : c.in().node(e.quantizers[0]).outputs[0];
  c.finish(node, e, Form{c.emit(std::move(made), c.in().value(named).name)});
  return true;
}

bool plain_gemm(const Node& node) {
  return node.attr_int("transA", 0) == 0 && node.attr_float("alpha", 1.0F) == 1.0F &&
         (!node.input(2).valid() || node.attr_float("beta", 1.0F) == 1.0F);
}

} // namespace

Result<bool> lower_gemm(Context& c, const Node& node) {
  const bool gemm = node.is("Gemm");
  if (!gemm && !node.is("MatMul")) return false;
  const ValueId x = node.input(0);
  const TypeInfo& x_type = c.in().value(x).type;
  if (x_type.type != DType::kFloat32 || !x_type.has_rank() || x_type.rank() < 2) return false;
  if (gemm && (!plain_gemm(node) || (node.input(2).valid() && !c.constant(node.input(2)))))
    return false;
  std::string why;
  std::optional<qdq::StoredCodes> w = c.wide_weights(node.input(1), why);
  const bool turned = gemm && node.attr_int("transB", 0) != 0; // already [N, K]
  if (w && !w->grid.per_tensor() && w->grid.axis != (turned ? 0 : w->codes.rank() - 1))
    why = "its weight scales do not run along the output channels";
  if (w && !c.codes(x)) why = "its input is not quantized";
  if (!why.empty()) w.reset();
  std::optional<CodedWeights> coded;
  if (!w) coded = coded_weights(c.in(), node.input(1), turned);
  const std::optional<Tensor> real = w || coded ? std::nullopt : c.constant(node.input(1));
  if (!w && !coded && !real) return gemm ? Result<bool>(false) : lower_activations(c, node);
  Tensor weights = w ? w->codes : coded ? coded->codes : *real;
  if (!gemm && weights.rank() != 2) return lower_activations(c, node);
  if (weights.rank() != 2 || (real && weights.type() != DType::kFloat32)) return false;
  if (!turned && !coded) weights = permuted(weights, kTurn);
  const int64_t columns = weights.dim(0);
  if (const std::optional<Tensor> bias = gemm ? c.constant(node.input(2)) : std::nullopt)
    if (bias->rank() > 1 || bias->count() != columns) return false;

  Form input = w ? *c.codes(x) : c.real(x);
  if (coded && coded->block != 0 && input.layout.is_flat()) {
    input = c.plain(x); // blocks are of neighbours in the source's order
  } else if (coded && input.layout == Layout::kFlatNhwc) {
    coded->codes = moved_codes(
        coded->codes, [&](const Tensor& codes) { return columns_to_hwc(codes, input.image); });
  } else if (input.layout == Layout::kFlatNhwc) {
    weights = columns_to_hwc(weights, input.image);
  } else if (!input.layout.is_plain() &&
             input.layout.stored_axis(x_type.rank() - 1, x_type.rank()) != x_type.rank() - 1) {
    input = w ? c.codes_plain(x) : c.plain(x);
  }
  const Layout rows = input.layout.is_flat() ? Layout::kPlain : input.layout;
  Product p{.node = node,
            .x = input,
            .x_quant = c.source(x).quant,
            .weights = std::nullopt,
            .coded = std::move(coded),
            .real_weights = {},
            .bias = gemm ? node.input(2) : ValueId{},
            .added_bias = std::nullopt,
            .result = node.outputs[0],
            .absorbed = {},
            .why_float = why,
            .attributes = {},
            .quantized_op = "QGemm",
            .float_op = "Gemm",
            .layout = rows};
  NodeId add;
  if (!p.bias.valid()) p.added_bias = bias_of_add(c, p.result, columns, add);
  if (p.added_bias) {
    p.absorbed = {add};
    p.result = c.in().node(add).outputs[0];
  }
  if (w) {
    w->codes = weights;
    p.weights = std::move(w);
  } else if (!p.coded) {
    p.real_weights = weights;
  }
  return emit_product(c, p);
}

} // namespace octet::lowering
