// SPDX-License-Identifier: Apache-2.0
// What a target in TOML says of its own: operators, the operator set, and which codes it takes.
#include <algorithm>

#include "core/format.h"
#include "targets/custom.h"

namespace octet {

namespace {

bool lists(const std::vector<std::string>& names, const Node& node) {
  const std::string name = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Codes of constants: stored, or made by a Q of a float constant.
bool is_weight(const Graph& graph, const Node& node) {
  if (graph.constant(node.input(0)) != nullptr) return true;
  const Node* before = graph.producer(node.input(0));
  return is_dequantize(node) && before != nullptr && is_quantize(*before) &&
         graph.constant(before->input(0)) != nullptr;
}

/// Zero, or for uint8 the middle.
bool is_symmetric(const Graph& graph, const Node& node) {
  const DType type = graph.value(codes_of_qdq(node)).type.type;
  const double middle = type == DType::kUint8 ? 128 : 0;
  if (!node.input(2).valid()) return middle == 0;
  const Tensor* zero = qdq::written(graph, node).zeros;
  if (zero == nullptr) return false;
  for (int64_t i = 0; i < zero->count(); ++i)
    if (zero->at(i) != middle) return false;
  return true;
}

class CodeCheck {
 public:
  CodeCheck(const CheckContext& context, const CustomTarget& custom, const Node& node)
      : context_(context), custom_(custom), wants_(custom.codes), node_(node) {}

  void run() const {
    const DType type = context_.graph.value(codes_of_qdq(node_)).type.type;
    if (!is_byte(type)) return;
    is_weight(context_.graph, node_) ? weight() : activation(type);
  }

 private:
  void activation(DType type) const {
    if (wants_.activation && type != *wants_.activation)
      add("activation-type", fmt::format("{} takes {} activations, not {}", custom_.name,
                                         name(*wants_.activation), name(type)));
    if (wants_.symmetric_activations && !is_symmetric(context_.graph, node_))
      add("zero-point-not-zero",
          fmt::format("{} takes symmetric activations: the zero point is not in the middle",
                      custom_.name));
  }

  void weight() const {
    if (wants_.symmetric_weights && !is_symmetric(context_.graph, node_))
      add("weight-zero-point",
          fmt::format("{} takes symmetric weights: a zero point is not in the middle",
                      custom_.name));
    const Tensor* stored = is_dequantize(node_) ? context_.graph.constant(node_.input(0)) : nullptr;
    if (stored == nullptr) return;
    if (wants_.float_weights)
      add("stored-weight",
          fmt::format("{} takes float weights with Q and DQ, not stored codes", custom_.name));
    if (wants_.narrow_weights && stored->type() == DType::kInt8 && holds_lowest(*stored))
      add("weight-range",
          fmt::format("{} takes weights of codes -127 .. 127; one is -128", custom_.name));
  }

  static bool holds_lowest(const Tensor& codes) {
    const auto bytes = codes.bytes();
    return std::find(bytes.begin(), bytes.end(), std::byte{0x80}) != bytes.end();
  }

  void add(std::string_view rule, std::string message) const {
    context_.add(
        rule, Severity::kError, label(context_.graph, node_), std::move(message),
        fmt::format("quantize the float model for it: octet quantize --target {}", custom_.path),
        custom_.name);
  }

  const CheckContext& context_;
  const CustomTarget& custom_;
  const CodeRules& wants_;
  const Node& node_;
};

} // namespace

void check_custom(const CheckContext& context, const CustomTarget& custom, const Node& node) {
  const int64_t bound = custom.placement.max_opset;
  if (context.once(node) && context.graph.opset() > bound)
    context.add("opset", Severity::kError, context.graph.name,
                fmt::format("operator set {} is above {}, the highest that {} takes",
                            context.graph.opset(), bound, custom.name),
                fmt::format("write it for operator set {}: octet repair does", bound), custom.name);
  const bool allowed = custom.allowed.empty() || lists(custom.allowed, node);
  if (!allowed || lists(custom.refused, node))
    context.add("operator", Severity::kError, label(context.graph, node),
                fmt::format("{} does not take {}", custom.name, node.op_type),
                "write it with operators that it takes", custom.name);
  if (is_qdq(node)) CodeCheck(context, custom, node).run();
}

} // namespace octet
