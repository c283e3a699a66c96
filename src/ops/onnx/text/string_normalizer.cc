// SPDX-License-Identifier: Apache-2.0
// StringNormalizer (opset 10). A vector of strings (or [1, C]) without the stop words, the rest in
// lower or upper case; one empty string when nothing is left. Stop words are compared as they are,
// or with case_change_action applied to both. Letters beyond ASCII depend on a locale and are an
// error where their case would have to change.
#include <algorithm>

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_StringNormalizer {
namespace {

enum class Case { kKeep, kLower, kUpper };

struct StringNormalizerAttrs {
  Case change = Case::kKeep;
  bool case_sensitive = false;
  std::vector<std::string> stopwords;
};

Result<StringNormalizerAttrs> parse(const Node& node) {
  StringNormalizerAttrs a;
  const std::string action = node.attr_string("case_change_action", "NONE");
  if (action == "LOWER")
    a.change = Case::kLower;
  else if (action == "UPPER")
    a.change = Case::kUpper;
  else if (action != "NONE")
    return error("case_change_action is \"{}\"; use LOWER, UPPER or NONE", action);
  a.case_sensitive = node.attr_int("is_case_sensitive", 0) != 0;
  if (const Attribute* list = node.attr("stopwords"))
    if (const auto* words = std::get_if<std::vector<std::string>>(&list->value))
      a.stopwords = *words;
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, TypeSet{DType::kString}));
  OCTET_TRY(check_rank(ctx, 0, 1, 2));
  OCTET_TRY(parse(ctx.node));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(DType::kString, std::nullopt);
  std::vector<Dim> out = *x.shape;
  if (out.size() == 2) OCTET_TRY(merge_dims(out[0], 1, "x has more rows than one"));
  out.back() = Dim::unknown();
  return one(DType::kString, out);
}

Result<std::string> changed(std::string text, Case change) {
  if (change == Case::kKeep) return text;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 128)
      return error(ErrorCode::kUnsupported,
                   "\"{}\" has letters beyond ASCII, whose case depends on a locale; use "
                   "case_change_action NONE",
                   text);
    if (change == Case::kLower && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (change == Case::kUpper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const StringNormalizerAttrs a = OCTET_TRY(parse(ctx.node));
  std::vector<std::string> stops = a.stopwords;
  if (!a.case_sensitive)
    for (std::string& word : stops)
      word = OCTET_TRY(changed(std::move(word), a.change));
  std::vector<std::string> out;
  for (const std::string& text : ctx.inputs[0].string_values()) {
    std::string result = OCTET_TRY(changed(text, a.change));
    const std::string& compared = a.case_sensitive ? text : result;
    if (std::find(stops.begin(), stops.end(), compared) == stops.end())
      out.push_back(std::move(result));
  }
  if (out.empty()) out.emplace_back();
  Shape shape = ctx.inputs[0].shape();
  shape.back() = static_cast<int64_t>(out.size());
  return one(OCTET_TRY(Tensor::strings(shape, std::move(out))));
}

} // namespace

extern const OpFacets facets = {
    .since = 10,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_StringNormalizer
