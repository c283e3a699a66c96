// SPDX-License-Identifier: Apache-2.0
// Constants that a text leaves to be drawn. Sources: He et al., arXiv 1502.01852; Glorot and Bengio,
// AISTATS 2010.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/format.h"
#include "core/hash.h"
#include "core/philox.h"
#include "core/string_util.h"
#include "ops/native/recurrent.h"
#include "ops/op.h"

#include "octet/models.h"

namespace octet {
namespace {

constexpr double kEmbeddingDeviation = 0.02; ///< as BERT's
constexpr double kWidestDeviation = 1e30;    ///< f32 holds what is drawn with it

const std::vector<std::string>& known_rules() {
  static const std::vector<std::string> rules = {"he",    "xavier", "uniform",
                                                 "zeros", "ones",   "normal"};
  return rules;
}

/// What a constant is to the first node that reads it.
struct Purpose {
  Role role = Role::kData;
  int64_t fan_in = 0, fan_out = 0; ///< 0: it is no weight of a product
  size_t input = 0;
  bool recurrent = false;
};

int64_t product_of(std::span<const int64_t> sizes) {
  int64_t out = 1;
  for (const int64_t size : sizes)
    out *= size;
  return out;
}

Purpose purpose_of(const Graph& graph, const Uses& uses, ValueId value) {
  Purpose out;
  for (const Uses::Use& use : uses.of(value)) {
    const Node& node = graph.node(use.node);
    const OpDef* op = find_op(node.domain, node.op_type);
    if (op == nullptr || use.input >= node.inputs.size()) continue;
    out.role = op->roles.fn(node, use.input);
    out.input = use.input;
    const Shape& shape = graph.value(value).constant.shape();
    if (out.role != Role::kWeight || shape.size() < 2 || !op->facts.value.products) return out;
    const std::span<const int64_t> sizes(shape);
    // What has no groups of channels is refused where types are inferred.
    const int64_t groups = std::max<int64_t>(node.attr_int("group", 1), 1);
    const RecurrentKind* layer =
        node.domain.empty() ? native::recurrent_kind(node.op_type) : nullptr;
    if (layer != nullptr) {
      out.recurrent = true;
      if (shape.size() != 3) return out; // peepholes: a factor for each element
      out.fan_in = sizes[2];
      out.fan_out = sizes[1] / layer->gates;
    } else if (node.is("Conv")) {
      out.fan_in = product_of(sizes.subspan(1));
      out.fan_out = sizes[0] * product_of(sizes.subspan(2)) / groups;
    } else if (node.is("ConvTranspose")) {
      out.fan_in = sizes[0] * product_of(sizes.subspan(2)) / groups;
      out.fan_out = product_of(sizes.subspan(1));
    } else {
      const bool turned = node.attr_int("transB", 0) != 0 || use.input == 0;
      out.fan_in = sizes[sizes.size() - (turned ? 1 : 2)];
      out.fan_out = sizes[sizes.size() - (turned ? 2 : 1)];
    }
    return out;
  }
  return out;
}

/// The rule for a constant of which the text says none. The gates of recurrent layers saturate, and
/// what goes round must not grow.
Result<std::string> rule_by_role(const Purpose& purpose) {
  switch (purpose.role) {
  case Role::kWeight:
    if (purpose.fan_in == 0) return std::string("normal");
    return std::string(purpose.recurrent ? "uniform" : "he");
  case Role::kBias:
    return std::string("zeros");
  case Role::kGain:
    return std::string("ones");
  case Role::kStatistic:
    return std::string(purpose.input == 3 ? "zeros" : "ones"); // mean and variance
  default:
    return error("what reads it does not say what it starts from; write init and one of {}",
                 join(known_rules(), ", "));
  }
}

Status draw(Graph& graph, const Uses& uses, const DrawnConstant& one, uint64_t seed) {
  const Value& value = graph.value(one.value);
  if (value.constant.type() != DType::kFloat32)
    return error("is {}; f32 constants are drawn", name(value.constant.type()));
  const Purpose purpose = purpose_of(graph, uses, one.value);
  const std::string rule = one.rule.empty() ? OCTET_TRY(rule_by_role(purpose)) : one.rule;
  const bool by_fan = rule == "he" || rule == "xavier" || rule == "uniform";
  if (by_fan && purpose.fan_in == 0)
    return error("init {} is of the weights of a product; write init zeros, ones or normal", rule);
  if (one.number > kWidestDeviation)
    return error("init {} {:g} is wider than f32 holds; write {:g} at most", rule, one.number,
                 kWidestDeviation);
  Tensor drawn = OCTET_TRY(Tensor::zeros(DType::kFloat32, value.constant.shape()));
  const std::string& text = value.name;
  Philox random(seed, hash_bytes(std::as_bytes(std::span(text.data(), text.size()))));
  const auto in = static_cast<double>(purpose.fan_in), out = static_cast<double>(purpose.fan_out);
  const double bound = rule == "xavier" ? std::sqrt(6 / (in + out)) : 1 / std::sqrt(in);
  const double deviation = rule == "he"     ? std::sqrt(2 / in)
                           : one.number > 0 ? one.number
                                            : kEmbeddingDeviation;
  for (float& v : drawn.mutable_data<float>()) {
    if (rule == "he" || rule == "normal")
      v = static_cast<float>(deviation * random.normal());
    else if (by_fan)
      v = static_cast<float>(random.uniform(-bound, bound));
    else if (rule == "ones")
      v = 1;
  }
  graph.set_constant(one.value, std::move(drawn));
  return ok_status();
}

} // namespace

Status draw_constants(Graph& graph, std::span<const DrawnConstant> drawn, uint64_t seed) {
  const Uses uses(graph);
  for (const DrawnConstant& one : drawn) {
    const std::vector<std::string>& rules = known_rules();
    const std::string what = fmt::format("constant \"{}\"", graph.value(one.value).name);
    if (!one.rule.empty() && std::find(rules.begin(), rules.end(), one.rule) == rules.end())
      return error("{}: there is no init \"{}\"{}", what, one.rule, suggestion(one.rule, rules));
    OCTET_TRY_WITH(draw(graph, uses, one, seed), what);
  }
  return ok_status();
}

} // namespace octet
