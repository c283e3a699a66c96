// SPDX-License-Identifier: Apache-2.0
// The side of shift_activation behind DQ.
#include <algorithm>
#include <array>

#include "targets/repair/shift.h"

namespace octet {

namespace {

/// What multiplies an input with another one, or sums it over a window that may hang over the edge:
/// an Add before these would keep them out of int8.
bool is_product(const Node& node) {
  constexpr std::array<std::string_view, 9> kProducts = {
      "MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "Attention", "LSTM", "GRU", "RNN"};
  return !node.domain.empty() ||
         std::find(kProducts.begin(), kProducts.end(), node.op_type) != kProducts.end();
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
        if (use.input != 0 || !product(node, now)) return false;
      } else if (moves_values(node) && use.input == 0 && depth < kShiftDepth) {
        if (!all(node.output(0), copy(node, now), depth + 1)) return false;
      } else {
        others = true;
      }
    }
    if (others) {
      const std::vector<double> one = {by_};
      const std::string name = graph_.value(old).name + "_shift";
      const ValueId number = patch_.constant(name, Tensor::from_doubles(type_, {}, one).value());
      patch_.replace(old, patch_.emit("Add", {now, number}, {}, name));
    }
    return true;
  }

 private:
  bool product(const Node& node, ValueId now) {
    if (node.is("MatMul")) return matmul(node, now);
    if (node.is("Gemm")) return gemm(node, now);
    return node.is("Conv") && conv(node, now);
  }

  bool matmul(const Node& node, ValueId now) {
    const auto weight = constant_value(graph_, node.input(1));
    if (!weight || weight->rank() != 2) return false;
    std::vector<double> bias = scaled(sums(*weight, 1), by_);
    const ValueId product = copy(node, now);
    const Shape whole = {static_cast<int64_t>(bias.size())};
    const std::string name = name_of(graph_, node) + "_bias";
    const NodeId next = context_.uses.single_consumer(node.output(0));
    const Node* add =
        next.valid() && !graph_.is_output(node.output(0)) ? &graph_.node(next) : nullptr;
    if (add != nullptr && add->is("Add")) {
      const size_t at = add->input(0) == node.output(0) ? 1 : 0;
      const Tensor* old = graph_.constant(add->input(at));
      if (old != nullptr && old->type() == type_ && joins(*old, bias)) {
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
      const Tensor* old = graph_.constant(node.input(2));
      if (old == nullptr || beta != 1 || !joins(*old, bias)) return false;
    } else if (beta != 1) {
      return false;
    }
    const Shape whole = {static_cast<int64_t>(bias.size())};
    patch_.replace(node.output(0),
                   copy(node, now, constant(name_of(graph_, node) + "_bias", whole, bias)));
    return true;
  }

  bool conv(const Node& node, ValueId now) {
    const auto weight = constant_value(graph_, node.input(1));
    if (!weight || weight->rank() < 2 || pads(node)) return false;
    std::vector<double> bias = scaled(sums(*weight, 0), by_);
    if (node.input(2).valid()) {
      const Tensor* old = graph_.constant(node.input(2));
      if (old == nullptr || !joins(*old, bias)) return false;
    }
    const Shape whole = {static_cast<int64_t>(bias.size())};
    patch_.replace(node.output(0),
                   copy(node, now, constant(name_of(graph_, node) + "_bias", whole, bias)));
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

  /// The node with another first input and, where given, another bias.
  ValueId copy(const Node& node, ValueId first, ValueId bias = {}) {
    patch_.from(node);
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = first;
    if (bias.valid()) {
      inputs.resize(3);
      inputs[2] = bias;
    }
    return patch_.emit(node.op_type, std::move(inputs), node.attributes, node.name);
  }

  Patch& patch_;
  const RepairContext& context_;
  const Graph& graph_;
  double by_;
  DType type_;
};

} // namespace

bool shift_readers(
    Patch& patch, const RepairContext& context, ValueId old, ValueId now, double by, DType type) {
  return ReaderShift(patch, context, by, type).all(old, now);
}

} // namespace octet
