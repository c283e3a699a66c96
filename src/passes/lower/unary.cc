// SPDX-License-Identifier: Apache-2.0
// Functions of one tensor:
//   DQ ─ f ─ Q    becomes QTable: f on all 256 codes, evaluated by the reference
//   x ─ f         keeps its order; exp, erf, tanh, sigmoid and GELU become octet's own
#include "graph/domains.h"
#include "ops/infer.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

/// octet.native specifies the function to the bit.
bool is_own(const Node& node) {
  return find_op(kNative, node.op_type) != nullptr;
}

bool is_unary(const Context& c, const Node& node) {
  if (node.is("Gelu", kNative)) return true;
  if (!node.domain.empty() || node.outputs.size() != 1 || !node.captures.empty()) return false;
  const OpDef* op = find_op(node.domain, node.op_type);
  if (!op || node.inputs.empty()) return false;
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() &&
        (!c.in().constant(node.inputs[i]) || c.in().constant(node.inputs[i])->count() != 1))
      return false;
  return op->quant.fn(node, input_infos(c.in(), node)).kind == QuantTrait::Kind::kUnary ||
         node.is("Relu") || node.is("Clip");
}

/// f on the numbers that the 256 codes stand for, quantized.
Result<Tensor>
make_table(const Context& c, const Node& node, const qdq::Grid& from, const qdq::Grid& to) {
  Tensor x = OCTET_TRY(Tensor::zeros(DType::kFloat32, {256}));
  const int64_t low = from.code_range()->lo;
  for (int64_t i = 0; i < 256; ++i)
    x.mutable_data<float>()[static_cast<size_t>(i)] = qdq::value_of(from, low + i);
  EvalContext context{
      .node = node, .version = c.in().opset(node.domain), .inputs = {x}, .run_body = {}, .seed = 0};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Tensor* t = c.in().constant(node.inputs[i]);
    context.inputs.push_back(t ? *t : Tensor{});
  }
  const std::vector<Tensor> y = OCTET_TRY(find_op(node.domain, node.op_type)->eval.fn(context));
  Tensor table = OCTET_TRY(Tensor::zeros(to.codes, {256}));
  for (size_t i = 0; i < 256; ++i)
    table.mutable_bytes()[i] =
        static_cast<std::byte>(qdq::code_of(to, y[0].data<float>()[i]) & 0xff);
  return table;
}

} // namespace

Result<bool> lower_unary(Context& c, const Node& node) {
  if (!is_unary(c, node)) return false;
  const ValueId x = node.input(0), y = node.outputs[0];
  if (c.in().value(x).type.type != DType::kFloat32) return false;
  if (const auto codes = c.codes(x)) {
    // Only the quantizers of its own result: a following Relu has a table of its own.
    Epilogue e = c.epilogue(y, false);
    if (e.to != DType::kFloat32 && e.absorbed.empty()) {
      Node made;
      made.op_type = "QTable";
      made.domain = kNative;
      made.name = node.name;
      made.origin = {node.name};
      const Tensor table = OCTET_TRY(make_table(c, node, c.source(x).quant, e.quant));
      made.inputs = {codes->id, c.out().add_constant(node.name + "/table", table)};
      const ValueId named = c.in().node(e.quantizers[0]).outputs[0];
      c.finish(node, e, codes->ordered(c.emit(std::move(made), c.in().value(named).name)));
      return true;
    }
  }
  Node made = node;
  made.outputs.clear();
  made.origin = {node.name};
  if (is_own(node)) made.domain = kNative;
  const Form in = c.real(x);
  made.inputs[0] = in.id;
  for (size_t i = 1; i < made.inputs.size(); ++i)
    if (node.inputs[i].valid()) made.inputs[i] = c.plain(node.inputs[i]).id;
  c.note(node, LowerForm::kFloat, made.op_type,
         c.codes(x) ? "its result is read in float" : "its input is not quantized");
  c.source(y).real = in.ordered(c.emit(std::move(made), c.in().value(y).name));
  return true;
}

} // namespace octet::lowering
