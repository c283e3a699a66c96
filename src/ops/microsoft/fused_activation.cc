// SPDX-License-Identifier: Apache-2.0
#include "ops/microsoft/fused_activation.h"

#include <algorithm>
#include <optional>

#include "core/format.h"
#include "ops/shared/types.h"

namespace octet::ms {
namespace {

struct Known {
  std::string_view op;
  std::vector<std::string> parameters;
};

const Known* find_known(const std::string& op) {
  static const std::vector<Known> known = {{"Relu", {}},
                                           {"Tanh", {}},
                                           {"Sigmoid", {}},
                                           {"Softplus", {}},
                                           {"Softsign", {}},
                                           {"Selu", {}},
                                           {"LeakyRelu", {"alpha"}},
                                           {"Elu", {"alpha"}},
                                           {"ThresholdedRelu", {"alpha"}},
                                           {"HardSigmoid", {"alpha", "beta"}},
                                           {"Clip", {"min", "max"}}};
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Known& k) { return k.op == op; });
  return found == known.end() ? nullptr : &*found;
}

/// Parameter `i` as the node has it.
std::optional<float> parameter(const Node& node, size_t i) {
  if (node.op_type == "FusedConv") {
    const auto all = node.attr_floats("activation_params");
    return i < all.size() ? std::optional(all[i]) : std::nullopt;
  }
  const char* name = i == 0 ? "activation_alpha" : "activation_beta";
  return node.has_attr(name) ? std::optional(node.attr_float(name, 0)) : std::nullopt;
}

} // namespace

Result<FusedActivation> fused_activation(const Node& node) {
  FusedActivation out{.op = node.attr_string("activation", ""), .parameters = {}};
  if (out.op.empty()) return out;
  const Known* known = find_known(out.op);
  if (known == nullptr)
    return error(ErrorCode::kUnsupported, "the activation \"{}\" is not known; apply it behind",
                 out.op);
  for (size_t i = 0; i < known->parameters.size(); ++i)
    if (const auto value = parameter(node, i))
      out.parameters.emplace_back(known->parameters[i], *value);
  if (out.op == "Clip" && out.parameters.size() != 2)
    return error("the activation Clip has {} parameters; give its minimum and its maximum",
                 out.parameters.size());
  return out;
}

Result<Tensor> activated(const FusedActivation& f, const Tensor& x) {
  if (f.op.empty()) return x;
  constexpr int64_t kVersion = 13;
  Node node;
  node.op_type = f.op;
  std::vector<Tensor> inputs = {x};
  for (const auto& [name, value] : f.parameters) {
    if (f.op == "Clip")
      inputs.push_back(OCTET_TRY(
          Tensor::from_doubles(x.type(), {}, std::vector<double>{static_cast<double>(value)})));
    else
      node.set(name, value);
  }
  auto y = OCTET_TRY(find_op("", f.op)->eval.fn(
      {.node = node, .version = kVersion, .inputs = std::move(inputs), .run_body = {}, .seed = 0}));
  return std::move(y[0]);
}

Node product_of(const Node& node, std::string op_type) {
  Node out = node;
  out.op_type = std::move(op_type);
  for (const char* own : {"activation", "activation_params", "activation_alpha", "activation_beta",
                          "activation_gamma"})
    out.attributes.erase(own);
  return out;
}

} // namespace octet::ms
