// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer (opset 9). How often each n-gram of a pool occurs in each row of x (numbers or
// strings), at its place of ngram_indexes: the count (TF), its weight if there is any (IDF), or
// both multiplied (TFIDF). The elements of an n-gram lie 1 to max_skip_count + 1 apart.
#include <algorithm>
#include <map>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_TfIdfVectorizer {
namespace {

struct TfIdfAttrs {
  int64_t shortest = 1, longest = 1, skips = 0, columns = 0;
  std::vector<int64_t> starts, indexes, numbers;
  std::vector<std::string> strings;
  std::vector<float> weights;
  std::string mode;
};

Result<TfIdfAttrs> parse(const Node& node) {
  TfIdfAttrs a{.shortest = node.attr_int("min_gram_length", 1),
               .longest = node.attr_int("max_gram_length", 1),
               .skips = node.attr_int("max_skip_count", 0),
               .columns = 0,
               .starts = node.attr_ints("ngram_counts"),
               .indexes = node.attr_ints("ngram_indexes"),
               .numbers = node.attr_ints("pool_int64s"),
               .strings = {},
               .weights = node.attr_floats("weights"),
               .mode = node.attr_string("mode", "")};
  if (const Attribute* pool = node.attr("pool_strings"))
    if (const auto* list = std::get_if<std::vector<std::string>>(&pool->value)) a.strings = *list;
  constexpr int64_t kMost = int64_t{1} << 24;
  for (const int64_t v : {a.shortest, a.longest - a.shortest + 1, a.longest, a.skips + 1})
    if (v < 1 || v > kMost)
      return error("min_gram_length, max_gram_length or max_skip_count are out of range");
  if (a.mode != "TF" && a.mode != "IDF" && a.mode != "TFIDF")
    return error("mode is \"{}\"; use TF, IDF or TFIDF", a.mode);
  if (a.numbers.empty() == a.strings.empty())
    return error("give pool_int64s or pool_strings, and not both");
  const auto size = static_cast<int64_t>(std::max(a.numbers.size(), a.strings.size()));
  int64_t before = 0;
  for (const int64_t start : a.starts) {
    if (start < before || start > size)
      return error("ngram_counts holds {}; they rise up to the pool's size {}", start, size);
    before = start;
  }
  for (const int64_t index : a.indexes) {
    if (index < 0 || index >= kMost) return error("ngram_indexes holds {}", index);
    a.columns = std::max(a.columns, index + 1);
  }
  if (!a.weights.empty() && a.weights.size() != a.indexes.size())
    return error("{} weights for {} n-grams", a.weights.size(), a.indexes.size());
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, TypeSet{DType::kInt32, DType::kInt64, DType::kString}));
  OCTET_TRY(check_rank(ctx, 0, 1, 2));
  const TfIdfAttrs a = OCTET_TRY(parse(ctx.node));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(DType::kFloat32, std::nullopt);
  std::vector<Dim> out = *x.shape;
  out.back() = a.columns;
  return one(DType::kFloat32, out);
}

/// n-gram -> its number in the pool. Errors: more n-grams than ngram_indexes.
template <class T>
Result<std::map<std::vector<T>, size_t>> grams(const TfIdfAttrs& a, const std::vector<T>& pool) {
  std::map<std::vector<T>, size_t> out;
  size_t id = 0;
  for (size_t n = 1; n <= a.starts.size(); ++n) {
    const auto begin = static_cast<size_t>(a.starts[n - 1]);
    const size_t end = n < a.starts.size() ? static_cast<size_t>(a.starts[n]) : pool.size();
    const auto length = static_cast<int64_t>(n);
    for (size_t at = begin; at + n <= end; at += n, ++id) {
      if (id >= a.indexes.size())
        return error("the pool has more n-grams than the {} ngram_indexes", a.indexes.size());
      if (length < a.shortest || length > a.longest) continue;
      out.emplace(std::vector<T>(pool.begin() + static_cast<ptrdiff_t>(at),
                                 pool.begin() + static_cast<ptrdiff_t>(at + n)),
                  id);
    }
  }
  return out;
}

/// Adds the n-grams of a row to the counts, by their number in the pool.
template <class T>
void count_row(const TfIdfAttrs& a,
               const std::map<std::vector<T>, size_t>& pool,
               std::span<const T> row,
               std::vector<double>& counts) {
  const auto size = static_cast<int64_t>(row.size());
  for (int64_t step = 1; step <= a.skips + 1 && step <= std::max<int64_t>(size, 1); ++step) {
    // Single elements are the same at any distance.
    const int64_t shortest = step == 1 ? a.shortest : std::max<int64_t>(a.shortest, 2);
    for (int64_t start = 0; start < size; ++start) {
      std::vector<T> gram;
      for (int64_t at = start; at < size && static_cast<int64_t>(gram.size()) < a.longest;
           at += step) {
        gram.push_back(row[static_cast<size_t>(at)]);
        if (static_cast<int64_t>(gram.size()) < shortest) continue;
        if (const auto found = pool.find(gram); found != pool.end()) ++counts[found->second];
      }
    }
  }
}

template <class T>
Result<std::vector<double>>
vectorize(const TfIdfAttrs& a, const std::vector<T>& pool, const std::vector<T>& x, int64_t rows) {
  const auto table = OCTET_TRY(grams(a, pool));
  const size_t width = rows > 0 ? x.size() / static_cast<size_t>(rows) : 0;
  std::vector<double> y(static_cast<size_t>(rows * a.columns));
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    std::vector<double> counts(a.indexes.size());
    count_row(a, table, std::span<const T>(x).subspan(r * width, width), counts);
    for (size_t id = 0; id < counts.size(); ++id) {
      const double weight = a.weights.empty() ? 1 : static_cast<double>(a.weights[id]);
      const double once = counts[id] > 0 ? 1 : 0;
      y[r * static_cast<size_t>(a.columns) + static_cast<size_t>(a.indexes[id])] +=
          a.mode == "TF"    ? counts[id]
          : a.mode == "IDF" ? weight * once
                            : weight * counts[id];
    }
  }
  return y;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const TfIdfAttrs a = OCTET_TRY(parse(ctx.node));
  const Tensor& x = ctx.inputs[0];
  const int64_t rows = x.rank() == 2 ? x.dim(0) : 1;
  if (a.strings.empty() == (x.type() == DType::kString))
    return error("x holds {}; the pool does not", name(x.type()));
  std::vector<double> y;
  if (x.type() == DType::kString) {
    y = OCTET_TRY(vectorize(a, a.strings, x.string_values(), rows));
  } else {
    const auto values = OCTET_TRY(integer_values(x));
    y = OCTET_TRY(vectorize(a, a.numbers, values, rows));
  }
  return one(OCTET_TRY(rounded(DType::kFloat32, shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_TfIdfVectorizer
