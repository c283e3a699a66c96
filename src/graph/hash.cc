// SPDX-License-Identifier: Apache-2.0
// The content hash of a graph, over names, structure, attributes and constants. Ids do not enter
// it, so that a graph and its copy read back from a file agree. Each list and text goes in behind
// its length: what another graph has elsewhere is another input.
#include "core/hash.h"

#include <bit>

#include "core/pages.h"
#include "graph/serialized.h"

#include "octet/graph.h"

namespace octet {
namespace {

class Hasher {
 public:
  void bytes(std::string_view text) {
    number(text.size());
    pieces_.add(std::as_bytes(std::span(text)));
  }
  void number(uint64_t v) { pieces_.add(std::as_bytes(std::span(&v, 1))); }
  uint64_t value() const { return pieces_.value(); }

 private:
  PieceHash pieces_;
};

struct AttributeHasher {
  Hasher& h;
  void operator()(std::monostate) const { h.number(0); }
  void operator()(int64_t v) const { h.number(static_cast<uint64_t>(v)); }
  void operator()(float v) const { h.number(std::bit_cast<uint32_t>(v)); }
  void operator()(const std::string& v) const { h.bytes(v); }
  void operator()(const Tensor& v) const { h.number(v.content_hash()); }
  void operator()(const GraphPtr& v) const { h.number(v ? v->content_hash() : 0); }
  void operator()(const std::shared_ptr<const SerializedAttribute>& v) const {
    if (!v) return h.number(0);
    h.number(static_cast<uint64_t>(v->field));
    h.bytes(v->bytes);
  }
  template <class T>
  void operator()(const std::vector<T>& list) const {
    h.number(list.size());
    for (const T& item : list)
      (*this)(item);
  }
};

void hash_type(Hasher& h, const TypeInfo& type) {
  h.number(static_cast<uint64_t>(type.type));
  h.bytes(type.text());
  h.bytes(type.opaque);
}

void hash_function(Hasher& h, const LocalFunction& function) {
  h.bytes(function.domain);
  h.bytes(function.name);
  h.bytes(function.overload);
  h.bytes(function.bytes);
}

} // namespace

uint64_t Graph::content_hash() const {
  Hasher h;
  h.number(opsets.size());
  for (const auto& [domain, version] : opsets) {
    h.bytes(domain);
    h.number(static_cast<uint64_t>(version));
  }
  const auto names = [&](const std::vector<ValueId>& ids) {
    h.number(ids.size());
    for (const ValueId id : ids)
      h.bytes(id.valid() ? value(id).name : std::string_view{});
  };
  names(inputs_);
  for (const ValueId id : inputs_)
    hash_type(h, value(id).type);
  names(outputs_);
  std::vector<ValueId> constants_by_name;
  for (const auto& [constant_name, id] : by_name_)
    if (value(id).is_constant()) constants_by_name.push_back(id);
  names(constants_by_name);
  for (const ValueId id : constants_by_name) {
    const Tensor& tensor = value(id).constant;
    h.number(tensor.content_hash());
    if (tensor.bytes().size() >= kLargeTensorBytes) tensor.page_out();
  }
  const std::vector<NodeId> all = nodes();
  h.number(all.size());
  for (const NodeId id : all) {
    const Node& n = node(id);
    h.bytes(n.domain);
    h.bytes(n.op_type);
    h.bytes(n.name);
    h.bytes(n.overload);
    names(n.inputs);
    names(n.outputs);
    h.number(n.attributes.size());
    for (const auto& [key, attribute] : n.attributes) {
      h.bytes(key);
      h.number(attribute.value.index());
      std::visit(AttributeHasher{h}, attribute.value);
      h.bytes(attribute.reference);
    }
  }
  h.number(info.functions.size());
  for (const LocalFunction& function : info.functions)
    hash_function(h, function);
  return h.value();
}

} // namespace octet
