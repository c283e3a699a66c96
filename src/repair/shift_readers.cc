// SPDX-License-Identifier: Apache-2.0
// The side of shift_activation behind DQ.
#include <algorithm>
#include <set>

#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/op.h"
#include "passes/emit.h"
#include "passes/standardize/standard_operators.h"
#include "repair/shift.h"

namespace octet {

namespace {

/// What multiplies an input with another one: an Add before it would keep it out of int8.
bool is_product(const Node& node) {
  return !node.domain.empty() || facts_of(node).products;
}

/// Sums of a tensor's elements for each index of `axis`.
std::vector<double> sums(const Tensor& t, int64_t axis) {
  std::vector<double> out(static_cast<size_t>(t.dim(axis)));
  int64_t inner = 1;
  for (int64_t a = axis + 1; a < t.rank(); ++a)
    inner *= t.dim(a);
  for (int64_t i = 0; i < t.count(); ++i)
    out[static_cast<size_t>(i / inner % t.dim(axis))] += t.at(i);
  return out;
}

bool pads(const Node& node) {
  const std::string mode = node.attr_string("auto_pad", "NOTSET");
  const std::vector<int64_t> all = node.attr_ints("pads");
  return (mode != "NOTSET" && mode != "VALID") ||
         std::any_of(all.begin(), all.end(), [](int64_t p) { return p != 0; });
}

class ReaderShift {
 public:
  ReaderShift(Patch& patch, const RepairContext& context, double by, DType type)
      : patch_(patch), context_(context), graph_(context.graph), by_(by), type_(type) {}

  bool all(ValueId old, ValueId now, int depth = 0) {
    bool others = graph_.is_output(old);
    for (const Uses::Use& use : context_.uses.of(old)) {
      const Node& node = graph_.node(use.node);
      if (is_product(node)) {
        if (!products_.insert(use.node).second || !product(node, use.input, now)) return false;
      } else if (moves_values(node) && use.input == 0 && depth < kShiftDepth) {
        if (!all(node.output(0), emit_with_input(patch_, node, 0, now), depth + 1)) return false;
      } else {
        others = true;
      }
    }
    if (others) {
      const std::string name = graph_.value(old).name + "_shifted_back";
      patch_.replace(old, emit_shift(patch_, now, by_, type_, name));
    }
    return true;
  }

 private:
  bool product(const Node& node, size_t input, ValueId now) {
    if (node.is("MatMul")) return matmul(node, input, now);
    if (input != 0) return false;
    if (node.is("Gemm")) return gemm(node, now);
    return node.is("Conv") && conv(node, now);
  }

  bool matmul(const Node& node, size_t input, ValueId now) {
    const auto weight = input == 0 ? constant_value(graph_, node.input(1)) : std::nullopt;
    if (!weight || weight->rank() != 2) return matmul_of_two(node, input, now);
    std::vector<double> bias = scaled(sums(*weight, 1), by_);
    const ValueId product = emit_with_input(patch_, node, 0, now);
    const Shape whole = {static_cast<int64_t>(bias.size())};
    const std::string name = name_of(graph_, node) + "_bias";
    const NodeId next = context_.uses.single_consumer(node.output(0));
    const Node* add =
        next.valid() && !graph_.is_output(node.output(0)) ? &graph_.node(next) : nullptr;
    if (add != nullptr && add->is("Add")) {
      const size_t at = add->input(0) == node.output(0) ? 1 : 0;
      const auto old = constant_value(graph_, add->input(at));
      if (old && old->type() == type_ && joins(*old, bias)) {
        const Shape shape = old->count() == 1 ? whole : old->shape();
        std::vector<ValueId> inputs = {product, constant(name, shape, bias)};
        if (at == 0) std::swap(inputs[0], inputs[1]);
        patch_.from(*add).replace(add->output(0),
                                  patch_.emit("Add", std::move(inputs), {}, add->name));
        return true;
      }
    }
    patch_.replace(node.output(0),
                   patch_.emit("Add", {product, constant(name, whole, bias)}, {}, name));
    return true;
  }

  /// (a' + c) b = a' b + c sum(b), the sums over what is multiplied.
  bool matmul_of_two(const Node& node, size_t input, ValueId now) {
    const ValueId other = node.input(1 - input);
    const auto matrix = [&](ValueId v) {
      return graph_.value(v).type.has_rank() && graph_.value(v).type.rank() >= 2;
    };
    // Attention that is to be placed anew has no room for sums between its products.
    if (context_.attention != AttentionForm::kKeep || !matrix(other) ||
        !matrix(node.input(input)) || other == node.input(input))
      return false;
    const std::string name = name_of(graph_, node) + (input == 0 ? "_a" : "_b");
    const ValueId sum = emit_sum(other, input == 0 ? -2 : -1, name + "_sum");
    const ValueId shift =
        patch_.emit("Mul", {sum, constant(name + "_by", {}, {by_})}, {}, name + "_shift");
    const ValueId product = emit_with_input(patch_, node, input, now);
    patch_.replace(node.output(0), patch_.emit("Add", {product, shift}, {}, name + "_shifted"));
    return true;
  }

  /// Sums over an axis came with axes as an input in operator set 13.
  ValueId emit_sum(ValueId x, int64_t axis, const std::string& name) {
    Attributes attributes;
    attributes["keepdims"].value = int64_t{1};
    std::vector<ValueId> inputs = {x};
    if (graph_.opset() < 13)
      attributes["axes"].value = std::vector<int64_t>{axis};
    else
      inputs.push_back(emit_ints(patch_, name + "_axis", {axis}));
    return patch_.emit("ReduceSum", std::move(inputs), std::move(attributes), name);
  }

  /// Adds what is there already; false where it has another form than one number for each column.
  static bool joins(const Tensor& old, std::vector<double>& bias) {
    const bool one = old.count() == 1 && old.rank() <= 1;
    const bool row = old.rank() > 0 && old.count() == static_cast<int64_t>(bias.size()) &&
                     old.dim(old.rank() - 1) == old.count();
    for (size_t i = 0; (one || row) && i < bias.size(); ++i)
      bias[i] += old.at(one ? 0 : static_cast<int64_t>(i));
    return one || row;
  }

  bool gemm(const Node& node, ValueId now) {
    const auto weight = constant_value(graph_, node.input(1));
    const double beta = static_cast<double>(node.attr_float("beta", 1.0F));
    if (!weight || weight->rank() != 2) return false;
    const double factor = by_ * static_cast<double>(node.attr_float("alpha", 1.0F));
    std::vector<double> bias =
        scaled(sums(*weight, node.attr_int("transB", 0) != 0 ? 0 : 1), factor);
    if (node.input(2).valid()) {
      const auto old = constant_value(graph_, node.input(2));
      if (!old || beta != 1 || !joins(*old, bias)) return false;
    } else if (beta != 1) {
      return false;
    }
    const Shape whole = {static_cast<int64_t>(bias.size())};
    patch_.replace(node.output(0),
                   with_bias(node, now, constant(name_of(graph_, node) + "_bias", whole, bias)));
    return true;
  }

  bool conv(const Node& node, ValueId now) {
    const auto weight = constant_value(graph_, node.input(1));
    if (!weight || weight->rank() < 2 || pads(node)) return false;
    std::vector<double> bias = scaled(sums(*weight, 0), by_);
    if (node.input(2).valid()) {
      const auto old = constant_value(graph_, node.input(2));
      if (!old || !joins(*old, bias)) return false;
    }
    const Shape whole = {static_cast<int64_t>(bias.size())};
    patch_.replace(node.output(0),
                   with_bias(node, now, constant(name_of(graph_, node) + "_bias", whole, bias)));
    return true;
  }

  static std::vector<double> scaled(std::vector<double> numbers, double by) {
    for (double& n : numbers)
      n *= by;
    return numbers;
  }

  ValueId
  constant(const std::string& name, const Shape& shape, const std::vector<double>& numbers) {
    return patch_.constant(name, Tensor::from_doubles(type_, shape, numbers).value());
  }

  /// A product with another input and bias.
  ValueId with_bias(Node node, ValueId value, ValueId bias) {
    node.inputs.resize(3);
    node.inputs[2] = bias;
    return emit_with_input(patch_, node, 0, value);
  }

  Patch& patch_;
  const RepairContext& context_;
  const Graph& graph_;
  double by_;
  DType type_;
  std::set<NodeId> products_; ///< each once: not those that multiply the value with itself
};

} // namespace

bool shift_readers(
    Patch& patch, const RepairContext& context, ValueId old, ValueId now, double by, DType type) {
  return ReaderShift(patch, context, by, type).all(old, now);
}

} // namespace octet
