// SPDX-License-Identifier: Apache-2.0
// Graph: the one model representation, a typed dataflow graph with ONNX semantics.
// Ids are stable: removing a node or value never renumbers another. Names are attributes.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "octet/dim.h"
#include "octet/tensor.h"

namespace octet {

class Graph;

/// What an ONNX file says of a part of a model and a graph has no place for. Opaque, and null for
/// most: it goes along with copies, so that a file which is written again says it again.
struct SerializedNode;
struct SerializedValue;
struct SerializedAttribute;
struct SerializedTensors;
struct SerializedModel;

/// Index of a node in its graph.
struct NodeId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const NodeId&) const = default;
};
/// Index of a value in its graph; an invalid one stands for an omitted optional input or output.
struct ValueId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const ValueId&) const = default;
};

/// Type and shape of a value. Sequences, optionals, maps and sparse tensors are kept as their
/// serialized ONNX TypeProto in `opaque`.
struct TypeInfo {
  DType type = DType::kUndefined;        ///< kUndefined: not known
  std::optional<std::vector<Dim>> shape; ///< nullopt: not even the rank is known
  std::string opaque;

  bool has_rank() const { return shape.has_value(); }
  int64_t rank() const { return static_cast<int64_t>(shape->size()); }
  /// The shape if every dimension is a constant.
  std::optional<Shape> static_shape() const;
  /// `f32[N, 3, 224, 224]`, `f32[*]` when the rank is unknown.
  std::string text() const;
};
TypeInfo tensor_type(DType type, std::span<const int64_t> shape);

/// A subgraph (body of If, Loop, Scan) held by an attribute.
using GraphPtr = std::shared_ptr<const Graph>;

/// An attribute's value, and for a node of a local function the name of the function's attribute
/// that it stands for. Sparse tensors and types, which no operator computes with, stay serialized.
struct Attribute {
  std::variant<std::monostate,
               int64_t,
               float,
               std::string,
               Tensor,
               GraphPtr,
               std::vector<int64_t>,
               std::vector<float>,
               std::vector<std::string>,
               std::vector<Tensor>,
               std::vector<GraphPtr>,
               std::shared_ptr<const SerializedAttribute>>
      value;
  std::string reference; ///< ref_attr_name, inside functions
  int32_t onnx_type = 0; ///< AttributeProto.AttributeType as read; 0: derived from the value
  std::string doc;
  std::shared_ptr<const SerializedTensors> tensors; ///< of those in `value`
};
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// ONNX metadata_props, in file order.
using Metadata = std::vector<std::pair<std::string, std::string>>;

struct Node {
  NodeId id;
  std::string name;
  std::string domain; ///< "" is ai.onnx
  std::string op_type;
  std::string overload;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  /// Outer values that the subgraphs in the attributes use (they count as uses of this node).
  std::vector<ValueId> captures;
  std::string doc;
  Metadata metadata;
  /// Names of the source nodes that this node was made from; empty for a node as read.
  std::vector<std::string> origin;
  std::shared_ptr<const SerializedNode> serialized;

  bool is(std::string_view type, std::string_view dom = "") const {
    return op_type == type && domain == dom;
  }
  ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : ValueId{}; }
  ValueId output(size_t i) const { return i < outputs.size() ? outputs[i] : ValueId{}; }

  int64_t attr_int(std::string_view key, int64_t otherwise) const;
  float attr_float(std::string_view key, float otherwise) const;
  std::string attr_string(std::string_view key, std::string_view otherwise) const;
  std::vector<int64_t> attr_ints(std::string_view key) const;
  std::vector<float> attr_floats(std::string_view key) const;
  const Attribute* attr(std::string_view key) const;
  bool has_attr(std::string_view key) const { return attr(key) != nullptr; }
  void set(std::string key, int64_t v);
  void set(std::string key, int v);
  void set(std::string key, float v);
  void set(std::string key, std::string v);
  void set(std::string key, const char* v);
  void set(std::string key, std::vector<int64_t> v);
  void set(std::string key, std::vector<float> v);
  void set(std::string key, Tensor v);
};

/// Where a value comes from.
enum class ValueKind { kNodeOutput, kInput, kConstant, kCapture };

struct Value {
  ValueId id;
  std::string name;
  TypeInfo type;
  ValueKind kind = ValueKind::kNodeOutput;
  NodeId producer;  ///< for kNodeOutput
  Tensor constant;  ///< for kConstant
  ValueId captured; ///< for kCapture: the value of the enclosing graph
  std::string doc;
  Metadata metadata;
  bool declared = false; ///< its type is stated in the file, beside what operators say
  std::shared_ptr<const SerializedValue> serialized;

  bool is_constant() const { return kind == ValueKind::kConstant; }
};

/// A local function, kept as it was serialized and inlined on demand (octet/passes.h).
struct LocalFunction {
  std::string domain, name, overload;
  std::string bytes; ///< FunctionProto
};

/// Facts about the file that are no part of the dataflow.
struct ModelInfo {
  int64_t ir_version = 10;
  std::string producer_name = "octet", producer_version, domain, doc;
  int64_t model_version = 0;
  Metadata metadata;
  std::string graph_doc;
  Metadata graph_metadata;
  std::vector<LocalFunction> functions;
  std::shared_ptr<const SerializedModel> serialized;
};

/// The graph. Copying one copies no weights.
class Graph {
 public:
  std::string name = "main";
  std::map<std::string, int64_t> opsets; ///< domain -> version; the default domain is ""
  ModelInfo info;

  /// Version of the operator set of a domain; 0 when not imported.
  int64_t opset(std::string_view domain = "") const;

  ValueId add_input(std::string value_name, TypeInfo type);
  ValueId add_constant(std::string value_name, Tensor tensor);
  /// A value of the enclosing graph, under its name there.
  ValueId add_capture(std::string value_name, ValueId outer, TypeInfo type);
  /// A value that nothing produces yet; `add_node` makes a node its producer.
  ValueId add_value(std::string value_name, TypeInfo type = {});
  /// A value as another graph has it, but for what belongs to that graph: its id, its producer, its
  /// place among the inputs. A capture captures `outer`.
  ValueId add_like(const Value& other, ValueId outer = {});
  /// Takes inputs, outputs and attributes of `node`; its id is assigned. Outputs must be values
  /// without a producer.
  NodeId add_node(Node node);
  /// Adds a node with fresh outputs named after it and returns the first output.
  ValueId emit(std::string op_type,
               std::vector<ValueId> inputs,
               Attributes attributes = {},
               std::string node_name = {},
               std::string domain = {},
               int outputs = 1);
  void mark_output(ValueId value) { outputs_.push_back(value); }
  void set_outputs(std::vector<ValueId> outputs) { outputs_ = std::move(outputs); }
  /// Makes inputs of values that no node produces. Former inputs that are not listed stay as values
  /// that nothing produces, so their users must get something else.
  void set_inputs(std::vector<ValueId> inputs);

  /// Removes a node; its outputs stay as nameless holes that nothing produces.
  void remove_node(NodeId node);
  /// Removes a value that nothing uses; it stays as such a hole. Inputs, and values that a node
  /// produces, are left alone.
  void remove_value(ValueId value);
  /// Redirects every use of `from` (nodes, captures, graph outputs) to `to`.
  void replace_uses(ValueId from, ValueId to);
  void set_node_input(NodeId node, size_t index, ValueId value);
  /// Turns a value that no node produces into a constant, or replaces a constant's tensor. Its type
  /// becomes the tensor's; it is no input any more.
  void set_constant(ValueId value, Tensor tensor);
  /// Turns a constant or an input into a capture of `outer`, or a capture into one of another value.
  void set_captured(ValueId value, ValueId outer);
  void set_type(ValueId value, TypeInfo type);
  void set_declared(ValueId value) { at(value).declared = true; }
  void set_doc(ValueId value, std::string doc, Metadata metadata);
  void set_serialized(ValueId value, std::shared_ptr<const SerializedValue> serialized);
  /// A new name for a value; a taken one gets a suffix. Returns the name that it got.
  std::string rename(ValueId value, std::string new_name);
  /// `base`, or the first of base_1, base_2, ... that no value has.
  std::string unique_name(std::string_view base);

  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id.index)]; }
  Node& mutable_node(NodeId id) { return nodes_[static_cast<size_t>(id.index)]; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id.index)]; }
  bool alive(NodeId id) const { return node_alive_[static_cast<size_t>(id.index)]; }

  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  /// Bounds of the ids; removed nodes leave holes.
  int32_t node_bound() const { return static_cast<int32_t>(nodes_.size()); }
  int32_t value_bound() const { return static_cast<int32_t>(values_.size()); }
  /// Living nodes in order of insertion (the file's order for a graph as read).
  std::vector<NodeId> nodes() const;
  /// Living nodes, producers before consumers, otherwise in order of insertion; an error names a
  /// node on a cycle.
  Result<std::vector<NodeId>> topological() const;
  /// Values of kind kConstant, in order of id.
  std::vector<ValueId> constants() const;

  std::optional<ValueId> find_value(std::string_view value_name) const;
  std::optional<NodeId> find_node(std::string_view node_name) const;
  /// The node that makes a value, or null.
  const Node* producer(ValueId id) const;
  /// The constant behind a value, or null. Follows Constant nodes.
  const Tensor* constant(ValueId id) const;
  bool is_output(ValueId id) const;

  /// Removes nodes that reach no output, to a fixed point; unused constants go too.
  /// Returns how many nodes went.
  int remove_dead();

  /// Hash of structure, names, attributes and constants.
  uint64_t content_hash() const;

 private:
  Value& at(ValueId id) { return values_[static_cast<size_t>(id.index)]; }
  void free_name(const std::string& value_name);

  std::vector<Node> nodes_;
  std::vector<bool> node_alive_;
  std::vector<Value> values_;
  std::vector<ValueId> inputs_, outputs_;
  std::map<std::string, ValueId, std::less<>> by_name_;
  /// By base: all of base_1, ..., base_(n - 1) are taken.
  std::map<std::string, int64_t, std::less<>> next_suffix_;
};

/// Who uses each value, made once for many questions; valid until the graph changes.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  struct Use {
    NodeId node;
    size_t input; ///< index in inputs; inputs.size() + k for capture k
    auto operator<=>(const Use&) const = default;
  };
  /// Uses by nodes, in order of node and input.
  std::span<const Use> of(ValueId id) const;
  /// Uses by nodes plus uses as a graph output.
  int count(ValueId id) const;
  /// The only consumer when there is one and the value is no graph output, else an invalid id.
  NodeId single_consumer(ValueId id) const;

 protected:
  /// The uses of one value. Those by nodes may hold gaps and be out of order until somebody looks,
  /// so that a change to one reader of a constant that half of the graph reads costs no more than
  /// others (graph/live_uses.h).
  struct Users {
    std::vector<Use> nodes;
    size_t gaps = 0;
    bool sorted = true;
    int outputs = 0; ///< uses as a graph output

    int count() const { return static_cast<int>(nodes.size() - gaps) + outputs; }
    void add(const Use& use);
    void tidy();
  };
  static constexpr size_t kGap = SIZE_MAX; ///< in place of an input

  bool knows(ValueId id) const {
    return id.valid() && static_cast<size_t>(id.index) < users_.size();
  }
  void add_node(const Node& node);

  mutable std::vector<Users> users_; ///< looking tidies
};

} // namespace octet
