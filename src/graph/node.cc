// SPDX-License-Identifier: Apache-2.0
// Node, Attribute and TypeInfo: access by name and the texts that messages show.
#include "octet/graph.h"

namespace octet {

std::optional<Shape> TypeInfo::static_shape() const {
  if (!shape) return std::nullopt;
  Shape out;
  out.reserve(shape->size());
  for (const Dim& d : *shape) {
    if (!d.is_constant()) return std::nullopt;
    out.push_back(d.value());
  }
  return out;
}

std::string TypeInfo::text() const {
  if (!opaque.empty()) return "opaque";
  std::string out(octet::name(type));
  if (!shape) return out + "[*]";
  out += '[';
  for (size_t i = 0; i < shape->size(); ++i) {
    if (i) out += ", ";
    out += (*shape)[i].text();
  }
  return out + ']';
}

TypeInfo tensor_type(DType type, std::span<const int64_t> shape) {
  TypeInfo info;
  info.type = type;
  info.shape.emplace(shape.begin(), shape.end());
  return info;
}

const Attribute* Node::attr(std::string_view key) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? nullptr : &found->second;
}

int64_t Node::attr_int(std::string_view key, int64_t otherwise) const {
  const Attribute* a = attr(key);
  const auto* v = a ? std::get_if<int64_t>(&a->value) : nullptr;
  return v ? *v : otherwise;
}

float Node::attr_float(std::string_view key, float otherwise) const {
  const Attribute* a = attr(key);
  const auto* v = a ? std::get_if<float>(&a->value) : nullptr;
  return v ? *v : otherwise;
}

std::string Node::attr_string(std::string_view key, std::string_view otherwise) const {
  const Attribute* a = attr(key);
  const auto* v = a ? std::get_if<std::string>(&a->value) : nullptr;
  return v ? *v : std::string(otherwise);
}

std::vector<int64_t> Node::attr_ints(std::string_view key) const {
  const Attribute* a = attr(key);
  const auto* v = a ? std::get_if<std::vector<int64_t>>(&a->value) : nullptr;
  return v ? *v : std::vector<int64_t>{};
}

std::vector<float> Node::attr_floats(std::string_view key) const {
  const Attribute* a = attr(key);
  const auto* v = a ? std::get_if<std::vector<float>>(&a->value) : nullptr;
  return v ? *v : std::vector<float>{};
}

void Node::set(std::string key, int64_t v) {
  attributes[std::move(key)].value = v;
}

void Node::set(std::string key, float v) {
  attributes[std::move(key)].value = v;
}

void Node::set(std::string key, std::string v) {
  attributes[std::move(key)].value = std::move(v);
}

void Node::set(std::string key, std::vector<int64_t> v) {
  attributes[std::move(key)].value = std::move(v);
}

void Node::set(std::string key, std::vector<float> v) {
  attributes[std::move(key)].value = std::move(v);
}

void Node::set(std::string key, Tensor v) {
  attributes[std::move(key)].value = std::move(v);
}

void Node::set(std::string key, int v) {
  set(std::move(key), static_cast<int64_t>(v));
}

void Node::set(std::string key, const char* v) {
  set(std::move(key), std::string(v));
}

} // namespace octet
