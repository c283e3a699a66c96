// SPDX-License-Identifier: Apache-2.0
// The pieces that BERT's encoder and heads are made of.
#include "models/bert_graph.h"

#include <numbers>

#include "core/format.h"
#include "models/bert_config.h"

namespace octet {
namespace {

constexpr int64_t kGeluOpset = 20;

} // namespace

BertGraph::BertGraph(const BertOptions& options, const BertSource& source)
    : options_(options), source_(source) {
  graph_.name = options.family == BertFamily::kBert ? "bert" : "distilbert";
  graph_.opsets[""] = options.opset;
  graph_.info.ir_version = options.opset < kGeluOpset ? 8 : 9;
  graph_.info.metadata.emplace_back(kBertMetadata, bert_config_json(options));
}

Result<Graph> BertGraph::build() {
  const std::vector<Dim> batch{Dim::symbol("N"), Dim::symbol("S")};
  const TypeInfo type{options_.index_type, batch, {}};
  ids_ = graph_.add_input("input_ids", type);
  attention_mask_ = graph_.add_input("attention_mask", type);
  if (options_.type_vocabulary > 0 && options_.token_type_input)
    types_ = graph_.add_input("token_type_ids", type);
  if (options_.gather_masked)
    masked_positions_ = graph_.add_input(
        "masked_positions", TypeInfo{options_.index_type, std::vector<Dim>{Dim::symbol("M")}, {}});
  ValueId x = OCTET_TRY(embeddings());
  mask_ = mask();
  for (int64_t i = 0; i < options_.layers; ++i)
    x = OCTET_TRY(layer(i, x));
  OCTET_TRY(add_head(x));
  return std::move(graph_);
}

Result<ValueId>
BertGraph::parameter(const std::string& name, Shape shape, BertInit init, bool turned) {
  const BertParameter wanted{name, std::move(shape), init, turned};
  Tensor tensor = OCTET_TRY_WITH(source_(wanted), "parameter " + name);
  if (tensor.type() != DType::kFloat32 || tensor.shape() != wanted.shape)
    return error("parameter {} is {}; the model has f32{}", name,
                 tensor_type(tensor.type(), tensor.shape()).text(), to_string(wanted.shape));
  return graph_.add_constant(name, std::move(tensor));
}

Result<ValueId> BertGraph::product(
    const std::string& node, const std::string& name, ValueId x, int64_t in, int64_t out) {
  const ValueId w = OCTET_TRY(parameter(name + ".weight", {in, out}, BertInit::kNormal, true));
  const ValueId b = OCTET_TRY(parameter(name + ".bias", {out}, BertInit::kZero, false));
  return emit("Add", {emit("MatMul", {x, w}, node), b}, node + "/bias");
}

Result<ValueId> BertGraph::gemm(
    const std::string& node, const std::string& name, ValueId x, int64_t in, int64_t out) {
  const ValueId w = OCTET_TRY(parameter(name + ".weight", {out, in}, BertInit::kNormal, false));
  const ValueId b = OCTET_TRY(parameter(name + ".bias", {out}, BertInit::kZero, false));
  return emit("Gemm", {x, w, b}, node, "transB", 1);
}

Result<ValueId> BertGraph::layer_norm(const std::string& node, const std::string& name, ValueId x) {
  const Shape shape{options_.hidden};
  const ValueId gain = OCTET_TRY(parameter(name + ".weight", shape, BertInit::kOne, false));
  const ValueId bias = OCTET_TRY(parameter(name + ".bias", shape, BertInit::kZero, false));
  Attributes attributes;
  attributes["axis"].value = int64_t{-1};
  attributes["epsilon"].value = static_cast<float>(options_.layer_norm_epsilon);
  return graph_.emit("LayerNormalization", {x, gain, bias}, attributes, node);
}

ValueId BertGraph::activate(const std::string& node, ValueId x) {
  if (options_.activation == BertActivation::kRelu) return emit("Relu", {x}, node);
  const bool tanh = options_.activation == BertActivation::kGeluTanh;
  if (options_.opset >= kGeluOpset) {
    Attributes attributes;
    if (tanh) attributes["approximate"].value = std::string("tanh");
    return graph_.emit("Gelu", {x}, attributes, node);
  }
  const ValueId one = scalar("one", 1), half = scalar("half", 0.5F);
  if (tanh) {
    const ValueId cube = emit("Pow", {x, scalar("three", 3)}, node + "/cube");
    const ValueId small = emit("Mul", {cube, scalar("gelu_cubic", 0.044715F)}, node + "/cubic");
    const ValueId sum = emit("Add", {x, small}, node + "/sum");
    const auto factor = static_cast<float>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    const ValueId inner = emit("Mul", {sum, scalar("gelu_factor", factor)}, node + "/inner");
    const ValueId t = emit("Tanh", {inner}, node + "/tanh");
    const ValueId shifted = emit("Add", {t, one}, node + "/shifted");
    const ValueId halved = emit("Mul", {x, half}, node + "/halved");
    return emit("Mul", {halved, shifted}, node);
  }
  const ValueId root = scalar("sqrt2", static_cast<float>(std::numbers::sqrt2));
  const ValueId e = emit("Erf", {emit("Div", {x, root}, node + "/div")}, node + "/erf");
  const ValueId shifted = emit("Add", {e, one}, node + "/shifted");
  return emit("Mul", {emit("Mul", {x, shifted}, node + "/product"), half}, node);
}

ValueId BertGraph::dropout(const std::string& node, ValueId x, double ratio) {
  if (ratio == 0) return x;
  const std::string name = fmt::format("dropout_{}", static_cast<float>(ratio));
  return emit("Dropout", {x, scalar(name, static_cast<float>(ratio))}, node);
}

ValueId BertGraph::emit(const char* type, std::vector<ValueId> inputs, const std::string& node) {
  return graph_.emit(type, std::move(inputs), {}, node);
}

ValueId BertGraph::emit(const char* type,
                        std::vector<ValueId> inputs,
                        const std::string& node,
                        const char* key,
                        int64_t value) {
  Attributes attributes;
  attributes[key].value = value;
  return graph_.emit(type, std::move(inputs), attributes, node);
}

ValueId BertGraph::shared(const std::string& name, Tensor tensor) {
  const auto [at, is_new] = shared_.try_emplace(name);
  if (is_new) at->second = graph_.add_constant(name, std::move(tensor));
  return at->second;
}

ValueId BertGraph::scalar(const std::string& name, float value) {
  return shared(name, Tensor::scalar(value));
}

ValueId BertGraph::ints(const std::string& name, std::vector<int64_t> values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  return shared(name, Tensor::of<int64_t>(shape, std::span<const int64_t>(values)));
}

void BertGraph::output(ValueId value, const char* name, std::vector<Dim> shape) {
  graph_.rename(value, name);
  graph_.set_type(value, TypeInfo{DType::kFloat32, std::move(shape), {}});
  graph_.mark_output(value);
}

} // namespace octet
