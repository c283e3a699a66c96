// SPDX-License-Identifier: Apache-2.0
//   Softmax(x, axis = 1)              =>  Reshape(Softmax(Flatten(x, 1), axis = -1), Shape(x))
//   Clip(x) {min, max}                =>  Clip(x, min, max)       so with Pad, Slice, TopK,
//   ReduceSum,
//                                                                 Split, Squeeze and Unsqueeze
//   Upsample(x, scales), Resize(x, scales)  =>  Resize(x, , scales) {asymmetric, floor}
// Exact. Source: the operators' change logs of ONNX, opsets 7 to 13.
#include "passes/standardize/raise_to_13.h"

#include <algorithm>

#include "core/format.h"
#include "graph/edit.h"
#include "graph/label.h"

namespace octet {
namespace {

bool is_softmax(const Node& node) {
  return node.is("Softmax") || node.is("LogSoftmax") || node.is("Hardmax");
}

bool only_first_output(const Node& node) {
  return node.outputs.size() == 1 || !node.output(1).valid();
}

class WriterFor13 {
 public:
  WriterFor13(Graph& graph, NodeId id, int64_t from, const Graph& typed)
      : graph_(graph), id_(id), from_(from), typed_(typed) {}

  Status run() {
    const Node& node = graph_.node(id_);
    if (is_softmax(node)) return softmax();
    if (node.is("Squeeze") || node.is("Unsqueeze") || node.is("ReduceSum")) {
      ints_to_input(graph_, id_, "axes", 1);
    } else if (node.is("Split")) {
      ints_to_input(graph_, id_, "split", 1);
    } else if (node.is("Slice") && from_ < 10) {
      ints_to_input(graph_, id_, "starts", 1);
      ints_to_input(graph_, id_, "ends", 2);
      ints_to_input(graph_, id_, "axes", 3);
    } else if (node.is("TopK") && from_ < 10) {
      const int64_t k = node.attr_int("k", 1);
      graph_.mutable_node(id_).attributes.erase("k");
      give(1, "k", Tensor::of<int64_t>({1}, {k}));
    } else if (node.is("Clip") && from_ < 11) {
      OCTET_TRY(float_to_input("min", 1));
      return float_to_input("max", 2);
    } else if (node.is("Pad") && from_ < 11) {
      ints_to_input(graph_, id_, "pads", 1);
      return float_to_input("value", 2);
    } else if (node.is("Upsample") || (node.is("Resize") && from_ < 11)) {
      resize();
    } else if (node.is("Scatter")) {
      graph_.mutable_node(id_).op_type = "ScatterElements";
    } else if (node.is("Dropout") && from_ < 12) {
      graph_.mutable_node(id_).attributes.erase("ratio");
    } else if (node.is("BatchNormalization")) {
      graph_.mutable_node(id_).attributes.erase("spatial");
    }
    return ok_status();
  }

 private:
  void give(size_t input, const char* what, const Tensor& value) {
    const std::string name = graph_.node(id_).name + "/" + what;
    const ValueId constant = graph_.add_constant(name, value);
    graph_.set_node_input(id_, input, constant);
  }

  /// In the type of the output, which is that of the data: the node that made the data may have
  /// been replaced by now, and then its value is a new one.
  Status float_to_input(const char* attribute, size_t input) {
    Node& node = graph_.mutable_node(id_);
    if (!node.has_attr(attribute)) return ok_status();
    const float value = node.attr_float(attribute, 0);
    node.attributes.erase(attribute);
    const DType type = typed_.value(node.output(0)).type.type;
    if (type == DType::kUndefined)
      return error("node {}: the type of \"{}\" is not known; declare it", label(graph_, node),
                   graph_.value(node.output(0)).name);
    const double wide = value;
    give(input, attribute, OCTET_TRY(Tensor::from_doubles(type, {}, {&wide, 1})));
    return ok_status();
  }

  /// Both took their sizes in one way only: asymmetric coordinates, rounded down.
  void resize() {
    Node& node = graph_.mutable_node(id_);
    node.op_type = "Resize";
    node.set("coordinate_transformation_mode", "asymmetric");
    node.set("nearest_mode", "floor");
    const std::vector<float> scales = node.attr_floats("scales");
    node.attributes.erase("scales");
    const ValueId given = node.input(1);
    graph_.set_node_input(id_, 1, {});
    const Shape shape = {static_cast<int64_t>(scales.size())};
    if (given.valid())
      graph_.set_node_input(id_, 2, given);
    else
      give(2, "scales", Tensor::of<float>(shape, std::span<const float>(scales)));
  }

  /// Before 13 it ran over all axes from `axis` on at once.
  Status softmax() {
    const Node node = graph_.node(id_);
    const int64_t axis = node.attr_int("axis", 1);
    const TypeInfo& x = typed_.value(node.output(0)).type; // the data's, as above
    const bool last = axis == -1 || (x.has_rank() && (axis == x.rank() - 1 || x.rank() == 1));
    if (last) {
      graph_.mutable_node(id_).set("axis", -1);
      return ok_status();
    }
    const auto emit = [&](const char* op, std::vector<ValueId> inputs, const char* suffix,
                          std::optional<int64_t> at) {
      Attributes attributes;
      if (at) attributes["axis"].value = *at;
      return graph_.emit(op, std::move(inputs), std::move(attributes), node.name + suffix);
    };
    const ValueId shape = emit("Shape", {node.input(0)}, "/shape", {});
    const ValueId rows = emit("Flatten", {node.input(0)}, "/rows", axis);
    const ValueId scores = emit(node.op_type.c_str(), {rows}, "", -1);
    const ValueId result = emit("Reshape", {scores, shape}, "/reshape", {});
    replace_node(graph_, id_, result);
    return ok_status();
  }

  Graph& graph_;
  NodeId id_;
  int64_t from_;
  const Graph& typed_;
};

} // namespace

std::string why_not_13(const Graph& graph, const Node& node, int64_t from) {
  if (!node.domain.empty()) return {};
  if (node.is("Scan") && from < 9) return "its inputs have another order";
  if (node.is("BatchNormalization") && node.attr_int("spatial", 1) != 1)
    return "statistics for each position (spatial = 0) have no later form";
  if (node.is("Dropout") && from < 12 && !only_first_output(node) &&
      (Uses(graph).count(node.output(1)) > 0))
    return "its mask is used";
  if (node.is("Resize") && from >= 11 &&
      node.attr_string("coordinate_transformation_mode", "") == "tf_half_pixel_for_nn")
    return "tf_half_pixel_for_nn has no later form";
  return {};
}

Status write_for_13(Graph& graph, NodeId node, int64_t from, const Graph& typed) {
  return WriterFor13(graph, node, from, typed).run();
}

} // namespace octet
