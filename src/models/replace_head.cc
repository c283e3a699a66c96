// SPDX-License-Identifier: Apache-2.0
// A network of another number of classes: its last product gets fresh weights of another width, and
// what stands between that and the output is told.
//
//     x ─▶ Gemm(W[out, in], b[out]) ─▶ Softmax ─▶ y[N, out]
//     x ─▶ Gemm(fresh[classes, in], 0[classes]) ─▶ Softmax ─▶ y[N, classes]
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/format.h"
#include "core/hash.h"
#include "core/philox.h"
#include "graph/edit.h"
#include "graph/label.h"
#include "ops/declared.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/op.h"

#include "octet/models.h"

namespace octet {
namespace {

constexpr int64_t kMostClasses = 1 << 20;

Role role_of(const Node& node, size_t input) {
  const OpDef* op = find_op(node.domain, node.op_type);
  return op == nullptr ? Role::kData : op->roles.fn(node, input);
}

class HeadReplacer {
 public:
  HeadReplacer(Graph& graph, int64_t classes, uint64_t seed)
      : graph_(graph), classes_(classes), seed_(seed) {}

  Result<ReplacedHead> run() {
    if (classes_ < 1 || classes_ > kMostClasses)
      return error("{} classes; from 1 to {} can be told apart", classes_, kMostClasses);
    if (graph_.outputs().empty()) return error("the graph has no output");
    OCTET_TRY(infer_types(graph_));
    const NodeId product = OCTET_TRY(find_product());
    out_.node = label(graph_, graph_.node(product));
    OCTET_TRY_WITH(widen_product(product), fmt::format("node {}", out_.node));
    for (const NodeId node : behind_)
      OCTET_TRY_WITH(follow(node), fmt::format("node {}", label(graph_, graph_.node(node))));
    graph_.remove_dead();
    forget_declared_shapes(graph_);
    graph_.set_type(graph_.outputs()[0],
                    {graph_.value(graph_.outputs()[0]).type.type, std::nullopt, {}});
    OCTET_TRY(infer_types(graph_));
    OCTET_TRY(check_output());
    return std::move(out_);
  }

 private:
  /// The inputs that data reaches.
  std::vector<size_t> data_inputs(const Node& node) const {
    std::vector<size_t> out;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].valid() && !constant_value(graph_, node.inputs[i])) out.push_back(i);
    return out;
  }

  Error no_head(const Node& node, std::string_view why) const {
    return error("the output \"{}\" has no one product that its classes come from: node {} {}; cut "
                 "the model behind its features, or name a model that ends in a linear layer",
                 graph_.value(graph_.outputs()[0]).name, label(graph_, node), why);
  }

  /// From the output back to the first product with a weight.
  Result<NodeId> find_product() {
    ValueId at = graph_.outputs()[0];
    for (const Node* node = graph_.producer(at); node != nullptr; node = graph_.producer(at)) {
      const std::vector<size_t> data = data_inputs(*node);
      if (data.size() != 1)
        return no_head(*node, data.empty() ? "makes it from constants"
                                           : fmt::format("makes it from {} values", data.size()));
      if (facts_of(*node).products) {
        if (!node->is("Gemm") && !node->is("MatMul") && !node->is("Conv"))
          return no_head(*node, "is a product of another kind than Gemm, MatMul and Conv");
        if (data[0] != 0) return no_head(*node, "has its weight on the left");
        return node->id;
      }
      behind_.push_back(node->id);
      at = node->inputs[data[0]];
    }
    return error("the output \"{}\" comes from an input without a product between them; there is "
                 "no last layer to replace",
                 graph_.value(graph_.outputs()[0]).name);
  }

  /// A constant in the place of an input, under the name of the one that it replaces.
  Status put(NodeId id, size_t input, Tensor tensor) {
    const ValueId old = graph_.node(id).inputs[input];
    out_.fresh.push_back(graph_.value(old).name);
    if (graph_.value(old).is_constant() && Uses(graph_).count(old) == 1) {
      graph_.set_constant(old, std::move(tensor));
      return ok_status();
    }
    const ValueId fresh = graph_.add_constant(
        graph_.unique_name(graph_.value(old).name + ".replaced"), std::move(tensor));
    graph_.set_node_input(id, input, fresh);
    return ok_status();
  }

  Result<Tensor> drawn(const Shape& shape, int64_t fan_in, std::string_view name) const {
    Tensor t = OCTET_TRY(Tensor::zeros(DType::kFloat32, shape));
    const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, fan_in)));
    Philox random(seed_, hash_bytes(std::as_bytes(std::span(name.data(), name.size()))));
    for (float& v : t.mutable_data<float>())
      v = static_cast<float>(random.uniform(-bound, bound));
    return t;
  }

  Status widen_product(NodeId id) {
    const Node node = graph_.node(id);
    const Tensor weight = *constant_value(graph_, node.inputs[1]);
    if (weight.type() != DType::kFloat32)
      return error("its weight is {}; a head is replaced in a model of f32", name(weight.type()));
    if (node.attr_int("group", 1) != 1) return error("its convolution has groups");
    if (weight.rank() < 2) return error("its weight {} is no matrix", to_string(weight.shape()));
    const bool first = node.is("Conv") || (node.is("Gemm") && node.attr_int("transB", 0) != 0);
    Shape shape = weight.shape();
    int64_t& width = first ? shape.front() : shape.back();
    if (!first && weight.rank() > 2) return error("its weight is a batch of matrices");
    old_ = width;
    width = classes_;
    out_.old_classes = old_;
    const int64_t fan_in = old_ == 0 ? 1 : weight.count() / old_;
    OCTET_TRY(put(id, 1, OCTET_TRY(drawn(shape, fan_in, graph_.value(node.inputs[1]).name))));
    return node.input(2).valid() ? follow_parameter(id, 2) : ok_status();
  }

  /// What is added or multiplied class by class becomes neutral of the new width.
  Status follow_parameter(NodeId id, size_t input) {
    const Node& node = graph_.node(id);
    const Tensor old = *constant_value(graph_, node.inputs[input]);
    if (old.count() <= 1) return ok_status();
    Shape shape = old.shape();
    const auto at = std::find(shape.begin(), shape.end(), old_);
    if (at == shape.end() || old.count() != old_ || old.type() != DType::kFloat32)
      return error("its constant \"{}\" {} is none of the {} classes, so what becomes of it is not "
                   "known; remove the node before",
                   graph_.value(node.inputs[input]).name, to_string(old.shape()), old_);
    *at = classes_;
    Tensor fresh = OCTET_TRY(Tensor::zeros(DType::kFloat32, shape));
    if (role_of(node, input) != Role::kBias && !node.is("Gemm") && !node.is("Conv"))
      for (float& v : fresh.mutable_data<float>())
        v = 1;
    return put(id, input, std::move(fresh));
  }

  /// Whether a constant of the node counts the classes as a size.
  Status follow(NodeId id) {
    const Node node = graph_.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      const std::optional<Tensor> held = constant_value(graph_, node.inputs[i]);
      if (!held || held->count() == 0) continue;
      if (is_float(held->type())) {
        if (facts_of(node).broadcasts) {
          OCTET_TRY(follow_parameter(id, i));
        } else if (held->count() > 1) {
          return error("its constant \"{}\" is of the old classes; cut the model before it",
                       graph_.value(node.inputs[i]).name);
        }
      } else if (motion_of(node).kind == Motion::Kind::kView) {
        OCTET_TRY(follow_sizes(id, i, *held));
      }
    }
    return ok_status();
  }

  Status follow_sizes(NodeId id, size_t input, const Tensor& held) {
    std::vector<int64_t> sizes = OCTET_TRY(held.to_ints());
    if (!graph_.node(id).is("Reshape")) return ok_status(); // axes
    const auto at = std::find(sizes.rbegin(), sizes.rend(), old_);
    if (at == sizes.rend()) return ok_status();
    *at = classes_;
    const ValueId fresh = graph_.add_constant(
        graph_.unique_name(graph_.value(graph_.node(id).inputs[input]).name + ".replaced"),
        int_list(sizes));
    graph_.set_node_input(id, input, fresh);
    return ok_status();
  }

  Status check_output() const {
    const Value& output = graph_.value(graph_.outputs()[0]);
    if (!output.type.has_rank() || output.type.rank() == 0) return ok_status();
    const auto last = output.type.shape->back().maybe_value();
    if (!last || *last == classes_) return ok_status();
    return error("behind node {} the output \"{}\" is {}, whose last axis are no classes; cut the "
                 "model behind that node",
                 out_.node, output.name, output.type.text());
  }

  Graph& graph_;
  int64_t classes_, old_ = 0;
  uint64_t seed_;
  std::vector<NodeId> behind_; ///< between the product and the output
  ReplacedHead out_;
};

} // namespace

Result<ReplacedHead> replace_head(Graph& graph, int64_t classes, uint64_t seed) {
  Graph changed = graph;
  ReplacedHead out = OCTET_TRY(HeadReplacer(changed, classes, seed).run());
  graph = std::move(changed);
  return out;
}

} // namespace octet
