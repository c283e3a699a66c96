// SPDX-License-Identifier: Apache-2.0
// octet.native Attention (1). q: [.., M, D], k: [.., N, D], v: [.., N, E] f32, each with its axes as
// q_perm, k_perm and v_perm say; then up to five f32 inputs of `program`, which broadcast with the
// scores. y = softmax(program(q k^T)) v: each step with the bits of its own operator. y_perm: the
// axes of y. segments (0): 1, and as last input i64 offsets [sequences + 1], where M = N: rows
// [offsets[i], offsets[i + 1]) attend among themselves. docs/native-operators.md.
#include "ops/native/attention.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/format.h"
#include "graph/domains.h"
#include "ops/native/epilogue.h"
#include "ops/native/segments.h"
#include "ops/shared/matrix_product.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::native {
namespace {

constexpr std::array<std::string_view, 4> kPerms = {"q_perm", "k_perm", "v_perm", "y_perm"};

/// One behind the inputs of the program.
size_t program_end(const Node& node, size_t inputs) {
  return attends_in_segments(node) ? inputs - 1 : inputs;
}

/// The type with its axes in the order that is computed with.
Result<TypeInfo> ordered_type(const InferContext& c, size_t i) {
  OCTET_TRY(check_rank(c, i, 2, 16));
  TypeInfo type = c.input(i).type;
  if (!type.has_rank()) return type;
  std::vector<Dim> shape;
  for (const int64_t axis : OCTET_TRY(attention_perm(c.node, i, type.rank())))
    shape.push_back((*type.shape)[static_cast<size_t>(axis)]);
  type.shape = std::move(shape);
  return type;
}

/// Of the scores, whatever the program adds to them.
Result<std::optional<std::vector<Dim>>> scores_shape(const InferContext& c) {
  const TypeInfo q = OCTET_TRY(ordered_type(c, 0));
  TypeInfo k = OCTET_TRY(ordered_type(c, 1));
  if (k.has_rank()) std::swap(k.shape->back(), *(k.shape->end() - 2));
  auto product = OCTET_TRY(matmul_shape(q, k));
  if (!product) return product;
  std::vector<std::vector<Dim>> shapes = {*product};
  for (size_t i = kAttentionOperands; i < program_end(c.node, c.inputs.size()); ++i) {
    if (!c.input(i).type.has_rank()) return std::optional<std::vector<Dim>>();
    shapes.push_back(*c.input(i).type.shape);
  }
  return std::optional(OCTET_TRY(broadcast_dims(shapes)));
}

/// What is added to the scores is the same for all rows and keys of a head.
Status check_segments(const InferContext& c) {
  const size_t last = c.inputs.size() - 1;
  OCTET_TRY(check_offsets_input(c, last));
  for (size_t i = kAttentionOperands; i < last; ++i) {
    const TypeInfo& x = c.input(i).type;
    if (!x.has_rank()) continue;
    for (int64_t back = 1; back <= std::min<int64_t>(x.rank(), 2); ++back) {
      const Dim& size = *(x.shape->end() - back);
      if (size.is_constant() && size.value() != 1)
        return error("input {} has {} rows or keys; segments take what has 1", i, size.value());
    }
  }
  const TypeInfo q = OCTET_TRY(ordered_type(c, 0)), k = OCTET_TRY(ordered_type(c, 1));
  if (!q.has_rank() || !k.has_rank()) return ok_status();
  OCTET_TRY(
      merge_dims(*(q.shape->end() - 2), *(k.shape->end() - 2), "queries and keys of segments"));
  return ok_status();
}

Result<std::vector<OutputInfo>> infer_as(const InferContext& c, DType to) {
  const size_t own = attends_in_segments(c.node) ? 1 : 0;
  OCTET_TRY(check_count(c, kAttentionOperands + own,
                        kAttentionOperands + own + numerics::kMaxMapInputs - 1));
  const size_t end = program_end(c.node, c.inputs.size());
  for (size_t i = kAttentionOperands; i < end; ++i)
    OCTET_TRY(check_input(c, i, kF32));
  const bool maps = OCTET_TRY(attention_program(c.node, c.inputs.size())).has_value();
  if (!maps && end > kAttentionOperands)
    return error("{} inputs but no program; use {}", c.inputs.size(), kAttentionOperands + own);
  if (own != 0) OCTET_TRY(check_segments(c));
  const TypeInfo scores{DType::kFloat32, OCTET_TRY(scores_shape(c)), {}};
  const auto y = OCTET_TRY(matmul_shape(scores, OCTET_TRY(ordered_type(c, 2))));
  if (!y) return one(to, y);
  std::vector<Dim> shape;
  const auto rank = static_cast<int64_t>(y->size());
  for (const int64_t axis : OCTET_TRY(attention_perm(c.node, kAttentionOperands, rank)))
    shape.push_back((*y)[static_cast<size_t>(axis)]);
  return one(to, std::move(shape));
}

Node part(std::string_view domain, std::string_view op) {
  Node node;
  node.domain = domain;
  node.op_type = op;
  return node;
}

Result<Tensor> run(const Node& node, std::vector<Tensor> inputs) {
  constexpr int64_t kMovementVersion = 13;
  auto made = OCTET_TRY(find_op(node.domain, node.op_type)
                            ->eval.fn({.node = node,
                                       .version = node.domain.empty() ? kMovementVersion : 1,
                                       .inputs = std::move(inputs),
                                       .run_body = {}}));
  return std::move(made.front());
}

Result<Tensor> transposed(Tensor x, std::vector<int64_t> perm) {
  Node node = part("", "Transpose");
  node.set("perm", std::move(perm));
  return run(node, {std::move(x)});
}

Result<Tensor> scores_of(const Node& node, Tensor q, Tensor k) {
  if (q.type() == DType::kFloat32) {
    Node product = part(kNative, "MatMul");
    product.set("trans_b", int64_t{1});
    return run(product, {std::move(q), std::move(k)});
  }
  std::vector<int64_t> turn(static_cast<size_t>(k.rank()));
  std::iota(turn.begin(), turn.end(), int64_t{0});
  std::swap(turn.back(), *(turn.end() - 2));
  Node product = part(kNative, "QMatMul");
  product.set("a_zero_point", node.attr_int("q_zero_point", 0));
  product.set("b_zero_point", node.attr_int("k_zero_point", 0));
  product.set("multiplier", node.attr_float("scores_multiplier", 1));
  product.set("to", static_cast<int64_t>(DType::kFloat32));
  return run(product, {std::move(q), OCTET_TRY(transposed(std::move(k), std::move(turn)))});
}

Result<Tensor> context_of(const Node& node, Tensor p, Tensor v) {
  if (v.type() == DType::kFloat32)
    return run(part(kNative, "MatMul"), {std::move(p), std::move(v)});
  Node quantize = part(kNative, "Quantize");
  quantize.set("scale", node.attr_float("p_scale", 1));
  quantize.set("zero_point", node.attr_int("p_zero_point", 0));
  quantize.set("to", node.attr_int("p_to", static_cast<int64_t>(DType::kInt8)));
  Tensor codes = OCTET_TRY(run(quantize, {std::move(p)}));
  Node product = part(kNative, "QMatMul");
  product.attributes = node.attributes;
  product.set("a_zero_point", node.attr_int("p_zero_point", 0));
  product.set("b_zero_point", node.attr_int("v_zero_point", 0));
  return run(product, {std::move(codes), std::move(v)});
}

using AttendedRows = std::array<Tensor, kAttentionOperands>;

/// Of q, k and v in the order that is computed with: [.., M, E].
Result<Tensor> attend(const EvalContext& c, AttendedRows x) {
  Tensor p = OCTET_TRY(scores_of(c.node, std::move(x[0]), std::move(x[1])));
  if (c.node.has_attr("program")) {
    Node map = part(kNative, "Map");
    map.set("program", c.node.attr_string("program", ""));
    map.set("constants", c.node.attr_floats("constants"));
    std::vector<Tensor> inputs = {std::move(p)};
    const auto end = static_cast<ptrdiff_t>(program_end(c.node, c.inputs.size()));
    inputs.insert(inputs.end(), c.inputs.begin() + kAttentionOperands, c.inputs.begin() + end);
    p = OCTET_TRY(run(map, std::move(inputs)));
  }
  p = OCTET_TRY(run(part(kNative, "Softmax"), {std::move(p)}));
  return context_of(c.node, std::move(p), std::move(x[2]));
}

/// Rows [begin, end): of the last axis but one.
Result<Tensor> rows_of(const Tensor& x, int64_t begin, int64_t end) {
  const auto list = [](int64_t value) { return Tensor::of<int64_t>({1}, {value}); };
  return run(part("", "Slice"), {x, list(begin), list(end), list(x.rank() - 2)});
}

Result<Tensor> attend_in_segments(const EvalContext& c, const AttendedRows& x) {
  const int64_t rows = x[0].dim(x[0].rank() - 2);
  const std::vector<int64_t> offsets = OCTET_TRY(read_offsets(c.inputs.back(), rows));
  std::vector<Tensor> made;
  made.reserve(offsets.size());
  for (size_t i = 1; i < offsets.size(); ++i) {
    AttendedRows own;
    for (size_t k = 0; k < own.size(); ++k)
      own[k] = OCTET_TRY(rows_of(x[k], offsets[i - 1], offsets[i]));
    made.push_back(OCTET_TRY(attend(c, std::move(own))));
  }
  if (made.empty()) return attend(c, x);
  Node joined = part("", "Concat");
  joined.set("axis", made.front().rank() - 2);
  return run(joined, std::move(made));
}

} // namespace

bool attends_in_segments(const Node& node) {
  return node.attr_int("segments", 0) != 0;
}

Result<std::vector<int64_t>> attention_perm(const Node& node, size_t i, int64_t rank) {
  std::vector<int64_t> perm = node.attr_ints(kPerms[i]);
  if (perm.empty()) {
    perm.resize(static_cast<size_t>(rank));
    std::iota(perm.begin(), perm.end(), int64_t{0});
  }
  if (static_cast<int64_t>(perm.size()) != rank)
    return error("{} has {} axes, what it is for has rank {}", kPerms[i], perm.size(), rank);
  return normalize_axes(perm, rank);
}

Result<std::optional<numerics::Program>> attention_program(const Node& node, size_t inputs) {
  if (!node.has_attr("program")) return std::optional<numerics::Program>();
  return std::optional(OCTET_TRY_WITH(
      numerics::parse_program(node.attr_string("program", ""), node.attr_floats("constants"),
                              program_end(node, inputs) - kAttentionOperands + 1),
      "program"));
}

Result<std::vector<OutputInfo>> infer_attention(const InferContext& c) {
  for (size_t i = 0; i < kAttentionOperands; ++i)
    OCTET_TRY(check_input(c, i, kF32));
  return infer_as(c, DType::kFloat32);
}

Result<std::vector<OutputInfo>> infer_qattention(const InferContext& c) {
  constexpr TypeSet kBoth{DType::kInt8, DType::kUint8, DType::kFloat32};
  for (size_t i = 0; i < kAttentionOperands; ++i)
    OCTET_TRY(check_input(c, i, kBoth));
  const auto is_float = [&](size_t i) { return c.input(i).type.type == DType::kFloat32; };
  if (is_float(0) != is_float(1))
    return error("q is {}, k is {}; both must be codes, or both f32", name(c.input(0).type.type),
                 name(c.input(1).type.type));
  if (!is_float(0)) {
    OCTET_TRY(parse_zero_point(c.node, "q_zero_point", c.input(0).type.type));
    OCTET_TRY(parse_zero_point(c.node, "k_zero_point", c.input(1).type.type));
  }
  if (is_float(2)) return infer_as(c, DType::kFloat32);
  const auto p = static_cast<DType>(c.node.attr_int("p_to", static_cast<int64_t>(DType::kInt8)));
  if (!kCodes.has(p)) return error("p_to {}; use i8 (3) or u8 (2)", static_cast<int>(p));
  OCTET_TRY(parse_zero_point(c.node, "p_zero_point", p));
  OCTET_TRY(parse_zero_point(c.node, "v_zero_point", c.input(2).type.type));
  return infer_as(c, OCTET_TRY(parse_epilogue(c.node)).to);
}

Result<std::vector<Tensor>> eval_attention(InferFn* infer, const EvalContext& c) {
  OCTET_TRY(infer_values(infer, c));
  AttendedRows x;
  for (size_t i = 0; i < kAttentionOperands; ++i)
    x[i] = OCTET_TRY(
        transposed(c.inputs[i], OCTET_TRY(attention_perm(c.node, i, c.inputs[i].rank()))));
  Tensor y = OCTET_TRY(attends_in_segments(c.node) ? attend_in_segments(c, x) : attend(c, x));
  std::vector<int64_t> perm = OCTET_TRY(attention_perm(c.node, kAttentionOperands, y.rank()));
  return one(OCTET_TRY(transposed(std::move(y), std::move(perm))));
}

} // namespace octet::native

namespace octet::native::op_Attention {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  return eval_attention(infer_attention, c);
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_attention,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true},
};

} // namespace octet::native::op_Attention
