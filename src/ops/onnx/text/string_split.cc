// SPDX-License-Identifier: Apache-2.0
// StringSplit (opset 20). Each string of x cut at the delimiter (without one: at runs of white
// space, of which there are none at the ends), at most maxsplit times; along a new last axis,
// filled with empty strings. The second output says into how many parts each was cut.
#include <algorithm>

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_StringSplit {
namespace {

struct StringSplitAttrs {
  std::string delimiter;
  int64_t most = -1; ///< cuts; negative: any number
};

StringSplitAttrs parse(const Node& node) {
  return {.delimiter = node.attr_string("delimiter", ""), .most = node.attr_int("maxsplit", -1)};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, TypeSet{DType::kString}));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank())
    return std::vector<OutputInfo>{one(DType::kString, std::nullopt)[0],
                                   one(DType::kInt64, std::nullopt)[0]};
  std::vector<Dim> parts = *x.shape;
  parts.push_back(Dim::unknown());
  return std::vector<OutputInfo>{one(DType::kString, parts)[0], one(DType::kInt64, x.shape)[0]};
}

constexpr std::string_view kSpace = " \t\n\r\f\v";

std::vector<std::string> split_at_space(std::string_view text, int64_t most) {
  std::vector<std::string> out;
  while (true) {
    const size_t start = text.find_first_not_of(kSpace);
    if (start == std::string_view::npos) return out;
    text.remove_prefix(start);
    const size_t end = text.find_first_of(kSpace);
    if (end == std::string_view::npos || static_cast<int64_t>(out.size()) == most) break;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  out.emplace_back(text);
  return out;
}

std::vector<std::string> split(std::string_view text, const StringSplitAttrs& a) {
  if (a.delimiter.empty()) return split_at_space(text, a.most);
  std::vector<std::string> out;
  while (static_cast<int64_t>(out.size()) != a.most) {
    const size_t end = text.find(a.delimiter);
    if (end == std::string_view::npos) break;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + a.delimiter.size());
  }
  out.emplace_back(text);
  return out;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const StringSplitAttrs a = parse(ctx.node);
  std::vector<std::vector<std::string>> rows;
  std::vector<int64_t> counts;
  size_t widest = 0;
  for (const std::string& text : ctx.inputs[0].string_values()) {
    rows.push_back(split(text, a));
    counts.push_back(static_cast<int64_t>(rows.back().size()));
    widest = std::max(widest, rows.back().size());
  }
  if (widest > 0 && rows.size() > (size_t{1} << 26) / widest)
    return error("{} strings of up to {} parts are too many", rows.size(), widest);
  std::vector<std::string> parts;
  for (auto& row : rows) {
    row.resize(widest);
    std::move(row.begin(), row.end(), std::back_inserter(parts));
  }
  Shape shape = ctx.inputs[0].shape();
  Tensor lengths = Tensor::of<int64_t>(shape, std::span<const int64_t>(counts));
  shape.push_back(static_cast<int64_t>(widest));
  return std::vector<Tensor>{OCTET_TRY(Tensor::strings(shape, std::move(parts))),
                             std::move(lengths)};
}

} // namespace

extern const OpFacets facets = {
    .since = 20,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_StringSplit
