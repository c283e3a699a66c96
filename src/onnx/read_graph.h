// SPDX-License-Identifier: Apache-2.0
// GraphProto (and the body of a FunctionProto) to Graph: names become ids, and what a subgraph uses
// of the graphs around it becomes a capture at every level in between.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/serialized.h"
#include "onnx/source.h"
#include "onnx/types.h"

#include "octet/graph.h"

namespace octet::onnx {

class GraphReader {
 public:
  /// A graph that no other encloses; it and its subgraphs import `opsets`.
  GraphReader(const Source& source, std::map<std::string, int64_t> opsets)
      : source_(source), parent_(nullptr), depth_(0) {
    graph_.opsets = std::move(opsets);
  }

  /// A GraphProto. To be called once.
  Result<Graph> read(Bytes message);
  /// The inputs, outputs and nodes of a FunctionProto. To be called once.
  Result<Graph> read_function(Bytes message);
  /// A GraphProto inside a node of this graph.
  Result<GraphPtr> read_subgraph(Bytes message);

  const Source& source() const { return source_; }

 private:
  struct Inside {};
  GraphReader(Inside, GraphReader& parent)
      : source_(parent.source_), parent_(&parent), depth_(parent.depth_ + 1) {
    graph_.opsets = parent.graph_.opsets;
  }

  /// ValueInfoProto.
  struct Info {
    std::string_view name;
    ReadType type;
    std::string doc;
    Metadata metadata;
    int32_t position = -1; ///< among the graph inputs
  };
  struct NodeFields {
    Node node; ///< what needs no names resolved
    std::string_view name, op_type;
    std::vector<std::string_view> inputs, outputs;
    std::vector<Bytes> attributes;
  };
  struct NamedMessage {
    Bytes message;
    std::string_view name;
  };
  /// The repeated fields of a GraphProto, collected before any is read.
  struct Fields {
    std::vector<Bytes> inputs, outputs, value_infos, annotations;
    std::vector<NamedMessage> initializers, sparse_initializers;
    std::vector<std::string_view> input_names, output_names; ///< of a function
  };

  Status scan(Bytes message, Fields& out);
  Status scan_function(Bytes message, Fields& out);
  Status scan_node(Bytes message, NodeFields& out);
  Result<Info> read_info(Bytes message);
  Status add_inputs(const Fields& fields);
  Status add_constants(const Fields& fields);
  Status add_node_outputs();
  Status add_types(const Fields& fields);
  Status add_nodes();
  Status add_node(NodeFields& fields);
  void add_late_types();
  Status add_annotations(const Fields& fields);
  Status add_outputs(const Fields& fields);
  Result<Graph> finish(const Fields& fields);

  /// The value of that name here, made a capture if an enclosing graph has it; else an invalid id.
  ValueId resolve(std::string_view name);
  Status declare(std::string_view name, ValueId id);
  ValueId stray(std::string_view name);
  void apply(ValueId id, Info& info);

  const Source& source_;
  GraphReader* parent_;
  int depth_;
  Graph graph_;
  std::unordered_map<std::string_view, ValueId> names_;
  /// Value infos of graph inputs that have an initializer, by name.
  std::unordered_map<std::string_view, Info> defaulted_;
  std::vector<NodeFields> nodes_;
  std::vector<Info> late_; ///< value infos of names that are not of this graph (yet)
  std::map<ValueId, SerializedValue> serialized_;
  std::vector<ValueId> outputs_;
};

} // namespace octet::onnx
