// SPDX-License-Identifier: Apache-2.0
// Printing a graph in its textual form (grammar: octet/graph_text.h).
#include <cmath>

#include "core/format.h"
#include "graph/serialized.h"
#include "graph/text_words.h"

#include "octet/graph_text.h"

namespace octet {
namespace {

std::string number(float v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  std::string s = fmt::format("{:.9g}", v);
  if (fmt::format("{}", v).size() < s.size()) s = fmt::format("{}", v);
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

std::string number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return fmt::format("{}", v);
}

template <class T, class Fn>
std::string listed(const std::vector<T>& items, Fn&& text) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i)
    out += (i ? ", " : "") + text(items[i]);
  return out + "]";
}

class Printer {
 public:
  Printer(const TextOptions& options, int indent) : options_(options), indent_(indent) {}

  std::string graph(const Graph& g) {
    graph_ = &g;
    std::string out = "graph " + word(g.name);
    if (!g.opsets.empty()) {
      out += " opset(";
      bool first = true;
      for (const auto& [domain, version] : g.opsets) {
        out += fmt::format("{}{}={}", first ? "" : ", ", in_quotes(domain), version);
        first = false;
      }
      out += ")";
    }
    out += "\n";
    for (const ValueId id : g.inputs())
      line(out, fmt::format("input {}: {}", word(g.value(id).name), type(g.value(id).type)));
    for (int32_t i = 0; i < g.value_bound(); ++i) {
      const Value& v = g.value(ValueId{i});
      if (v.kind == ValueKind::kCapture)
        line(out, fmt::format("capture {}: {}", word(v.name), type(v.type)));
    }
    for (const ValueId id : g.constants())
      line(out, "const " + word(g.value(id).name) + ": " + tensor(g.value(id).constant, " = "));
    for (const NodeId id : g.nodes())
      line(out, node(g.node(id)));
    for (const ValueId id : g.outputs())
      line(out, fmt::format("output {}: {}", word(g.value(id).name), type(g.value(id).type)));
    return out;
  }

 private:
  void line(std::string& out, const std::string& text) const {
    out += std::string(static_cast<size_t>(indent_) * 2, ' ') + text + "\n";
  }

  static std::string type(const TypeInfo& t) {
    if (t.opaque.empty()) return t.text();
    return "opaque(" + in_quotes(hex(t.opaque)) + ")";
  }

  std::string tensor(const Tensor& t, std::string_view separator) const {
    std::string out = std::string(name(t.type())) + to_string(t.shape()) + std::string(separator);
    if (t.count() > options_.max_elements || t.type() == DType::kComplex64 ||
        t.type() == DType::kComplex128)
      return out + fmt::format("@{:016x}", t.content_hash());
    const Tensor aligned = t.aligned();
    out += "[";
    for (int64_t i = 0; i < t.count(); ++i)
      out += (i ? ", " : "") + element(aligned, i);
    return out + "]";
  }

  /// `t` is aligned.
  static std::string element(const Tensor& t, int64_t i) {
    const auto at = static_cast<size_t>(i);
    switch (t.type()) {
    case DType::kString:
      return in_quotes(t.string_values()[at]);
    case DType::kInt64:
      return fmt::format("{}", t.data<int64_t>()[at]);
    case DType::kUint64:
      return fmt::format("{}", t.data<uint64_t>()[at]);
    case DType::kFloat32:
      return number(t.data<float>()[at]);
    default:
      return number(t.at(i));
    }
  }

  std::string value(ValueId id) const { return id.valid() ? word(graph_->value(id).name) : "_"; }

  std::string node(const Node& n) const {
    std::string out;
    for (size_t k = 0; k < n.outputs.size(); ++k)
      out += (k ? ", " : "") + value(n.outputs[k]);
    out += out.empty() ? "" : " = ";
    out += word(n.domain.empty() ? n.op_type : n.domain + "." + n.op_type) + "(";
    for (size_t i = 0; i < n.inputs.size(); ++i)
      out += (i ? ", " : "") + value(n.inputs[i]);
    out += ")";
    if (!n.attributes.empty()) {
      out += " {";
      bool first = true;
      for (const auto& [key, attribute] : n.attributes) {
        out += (first ? "" : ", ") + word(key) + "=" + attr(attribute);
        first = false;
      }
      out += "}";
    }
    if (!n.name.empty()) out += " " + in_quotes(n.name);
    if (options_.types && !n.outputs.empty() && n.outputs[0].valid())
      out += "  # " + graph_->value(n.outputs[0]).type.text();
    return out;
  }

  std::string attr(const Attribute& a) const {
    if (!a.reference.empty())
      return fmt::format("ref({}, {})", in_quotes(a.reference), a.onnx_type);
    return std::visit([this](const auto& v) { return attr_value(v); }, a.value);
  }
  std::string attr_value(std::monostate) const { return "none"; }
  std::string attr_value(int64_t v) const { return fmt::format("{}", v); }
  std::string attr_value(float v) const { return number(v); }
  std::string attr_value(const std::string& v) const { return in_quotes(v); }
  std::string attr_value(const Tensor& v) const { return "tensor(" + tensor(v, ", ") + ")"; }
  std::string attr_value(const std::shared_ptr<const SerializedAttribute>& v) const {
    return v == nullptr ? "none" : fmt::format("raw({}, {})", v->field, in_quotes(hex(v->bytes)));
  }
  std::string attr_value(const GraphPtr& v) const {
    std::string text = Printer(options_, indent_ + 1).graph(*v);
    return "{ " + text + std::string(static_cast<size_t>(indent_) * 2, ' ') + "}";
  }
  std::string attr_value(const std::vector<int64_t>& v) const {
    return v.empty() ? "ints[]" : listed(v, [](int64_t x) { return fmt::format("{}", x); });
  }
  std::string attr_value(const std::vector<float>& v) const {
    return v.empty() ? "floats[]" : listed(v, [](float x) { return number(x); });
  }
  std::string attr_value(const std::vector<std::string>& v) const {
    return v.empty() ? "strings[]" : listed(v, [](const std::string& x) { return in_quotes(x); });
  }
  std::string attr_value(const std::vector<Tensor>& v) const {
    return v.empty() ? "tensors[]" : listed(v, [this](const Tensor& x) { return attr_value(x); });
  }
  std::string attr_value(const std::vector<GraphPtr>& v) const {
    return v.empty() ? "graphs[]" : listed(v, [this](const GraphPtr& x) { return attr_value(x); });
  }

  const TextOptions& options_;
  int indent_;
  const Graph* graph_ = nullptr;
};

} // namespace

std::string print(const Graph& graph, const TextOptions& options) {
  return Printer(options, 0).graph(graph);
}

} // namespace octet
