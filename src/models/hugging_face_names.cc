// SPDX-License-Identifier: Apache-2.0
#include "models/hugging_face_names.h"

namespace octet {
namespace {

constexpr std::string_view kBert = "bert.", kDistil = "distilbert.";

/// What DistilBERT calls the parts of BERT; the first that a name contains is replaced.
constexpr std::pair<std::string_view, std::string_view> kDistilParts[] = {
    {"bert.encoder.layer.", "distilbert.transformer.layer."},
    {"bert.embeddings.", "distilbert.embeddings."},
    {"bert.pooler.dense.", "pre_classifier."},
    {"cls.predictions.transform.dense.", "vocab_transform."},
    {"cls.predictions.transform.LayerNorm.", "vocab_layer_norm."},
    {"cls.predictions.bias", "vocab_projector.bias"},
    {".attention.self.query.", ".attention.q_lin."},
    {".attention.self.key.", ".attention.k_lin."},
    {".attention.self.value.", ".attention.v_lin."},
    {".attention.output.dense.", ".attention.out_lin."},
    {".attention.output.LayerNorm.", ".sa_layer_norm."},
    {".intermediate.dense.", ".ffn.lin1."},
    {".output.dense.", ".ffn.lin2."},
    {".output.LayerNorm.", ".output_layer_norm."}};

std::string distil_name(std::string name) {
  for (const auto& [from, to] : kDistilParts)
    if (const size_t at = name.find(from); at != std::string::npos)
      name.replace(at, from.size(), to);
  return name;
}

void add_variants(const std::string& name, std::vector<std::string>& out) {
  out.push_back(name);
  const std::pair<std::string_view, std::string_view> old[] = {
      {"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}};
  for (const auto& [now, then] : old)
    if (name.ends_with(now))
      out.push_back(name.substr(0, name.size() - now.size()) + std::string(then));
}

} // namespace

std::string hugging_face_name(std::string_view parameter, BertFamily family, BertHead head) {
  const bool bert = family == BertFamily::kBert;
  std::string name = bert ? std::string(parameter) : distil_name(std::string(parameter));
  const std::string_view prefix = bert ? kBert : kDistil;
  // The bare encoder is the model itself and has no prefix.
  if (head == BertHead::kNone && name.starts_with(prefix)) name.erase(0, prefix.size());
  return name;
}

std::vector<std::string>
hugging_face_names(std::string_view parameter, BertFamily family, BertHead head) {
  std::vector<std::string> out;
  add_variants(hugging_face_name(parameter, family, head), out);
  const std::string_view prefix = family == BertFamily::kBert ? kBert : kDistil;
  if (out.front().starts_with(prefix))
    add_variants(out.front().substr(prefix.size()), out);
  else if (head == BertHead::kNone)
    add_variants(std::string(prefix) + out.front(), out);
  if (parameter == "cls.predictions.bias") out.emplace_back("cls.predictions.decoder.bias");
  return out;
}

} // namespace octet
