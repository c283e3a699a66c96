// SPDX-License-Identifier: Apache-2.0
// Sizes, checks and initial weights of BERT.
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "core/format.h"
#include "core/hash.h"
#include "core/philox.h"
#include "core/string_util.h"
#include "core/threads.h"
#include "graph/metadata.h"
#include "models/bert_config.h"
#include "models/bert_graph.h"

namespace octet {
namespace {

constexpr int64_t kMaxWidth = 65536, kMaxVocabulary = int64_t{1} << 24, kMaxLayers = 1024;

struct Size {
  const char* name;
  int64_t layers, hidden;
};
constexpr Size kSizes[] = {{"tiny", 2, 128},   {"mini", 4, 256},  {"small", 4, 512},
                           {"medium", 8, 512}, {"base", 12, 768}, {"large", 24, 1024}};
constexpr int64_t kHeadSize = 64;

/// Heads of 64 columns, or of more where that does not come out even.
BertOptions sized(int64_t layers, int64_t hidden) {
  BertOptions options;
  options.layers = layers;
  options.hidden = hidden;
  options.heads = std::max<int64_t>(1, hidden / kHeadSize);
  while (hidden % options.heads != 0)
    --options.heads;
  options.intermediate = 4 * hidden;
  return options;
}

} // namespace

Result<BertOptions> bert_size(std::string_view name) {
  std::vector<std::string> names;
  for (const Size& size : kSizes) {
    names.emplace_back(size.name);
    if (name == size.name) return sized(size.layers, size.hidden);
  }
  const size_t cross = name.find('x');
  if (cross != std::string_view::npos) {
    const int64_t layers = whole_number(name.substr(0, cross));
    const int64_t hidden = whole_number(name.substr(cross + 1));
    if (layers > 0 && layers <= kMaxLayers && hidden > 0 && hidden <= kMaxWidth)
      return sized(layers, hidden);
  }
  return error("no BERT of size \"{}\"{} (layers and hidden size are written 6x384)", name,
               suggestion(name, names));
}

Status check_bert_options(const BertOptions& o) {
  const struct {
    const char* what;
    int64_t value, low, high;
  } bounds[] = {{"vocabulary", o.vocabulary, 1, kMaxVocabulary},
                {"positions", o.positions, 1, kMaxVocabulary},
                {"type vocabulary", o.type_vocabulary, 0, kMaxWidth},
                {"hidden", o.hidden, 1, kMaxWidth},
                {"layers", o.layers, 1, kMaxLayers},
                {"heads", o.heads, 1, kMaxWidth},
                {"intermediate", o.intermediate, 1, 4 * kMaxWidth},
                {"operator set", o.opset, 17, 25}};
  for (const auto& b : bounds)
    if (b.value < b.low || b.value > b.high)
      return error("bert: {} is {}; it lies in {} .. {}", b.what, b.value, b.low, b.high);
  if (o.hidden % o.heads != 0)
    return error("bert: hidden is {}, no multiple of the {} heads", o.hidden, o.heads);
  for (const double ratio : {o.dropout, o.attention_dropout, std::max(o.classifier_dropout, 0.0)})
    if (!(ratio >= 0 && ratio < 1)) return error("bert: dropout is {}; it lies in [0, 1)", ratio);
  if (!(o.layer_norm_epsilon >= 0 && o.layer_norm_epsilon < 1))
    return error("bert: the epsilon of layer normalization is {}; it lies in [0, 1)",
                 o.layer_norm_epsilon);
  if (!(o.initializer_range >= 0 && o.initializer_range < 100))
    return error("bert: the initializer range is {}; it lies in [0, 100)", o.initializer_range);
  if (o.index_type != DType::kInt64 && o.index_type != DType::kInt32)
    return error("bert: inputs of type {}; use i64 or i32", name(o.index_type));
  if (o.head == BertHead::kClassification) {
    if (o.labels.size() < 2)
      return error("bert: {} class; a classifier has two or more", o.labels.size());
    std::map<std::string_view, size_t> seen;
    for (size_t i = 0; i < o.labels.size(); ++i)
      if (const auto [first, is_new] = seen.emplace(o.labels[i], i); !is_new)
        return error("bert: classes {} and {} are both called \"{}\"; give each its own name",
                     first->second, i, o.labels[i]);
  }
  const bool masked = o.head == BertHead::kMaskedLm || o.head == BertHead::kPretraining;
  if (o.gather_masked && !masked)
    return error("bert: masked positions without a masked language model; choose that head");
  if (o.family == BertFamily::kDistilBert && o.head == BertHead::kPretraining)
    return error("bert: DistilBERT has no next sentence head; use masked_lm");
  return ok_status();
}

Result<Graph> build_bert(const BertOptions& options, const BertSource& source) {
  OCTET_TRY(check_bert_options(options));
  return BertGraph(options, source).build();
}

Result<Tensor> initial_bert_parameter(const BertOptions& options, const BertParameter& parameter) {
  Tensor t = OCTET_TRY(Tensor::zeros(DType::kFloat32, parameter.shape));
  const std::span<float> values = t.mutable_data<float>();
  if (parameter.init == BertInit::kZero) return t;
  if (parameter.init == BertInit::kOne) {
    std::fill(values.begin(), values.end(), 1.0F);
    return t;
  }
  // Uniform between the normal distribution's values at -2 and 2, through its inverse.
  constexpr double kLow = 0.022750131948179207, kHigh = 1 - kLow;
  constexpr int64_t kChunk = 1 << 16;
  const uint64_t stream = hash_bytes(parameter.name);
  ThreadPool pool(0);
  pool.run(t.count(), kChunk, [&](int64_t begin, int64_t end) {
    Philox random(options.seed, stream);
    random.seek(static_cast<uint64_t>(begin) * 2); // two 32-bit numbers each
    for (int64_t i = begin; i < end; ++i)
      values[static_cast<size_t>(i)] = static_cast<float>(
          options.initializer_range * normal_quantile(random.uniform(kLow, kHigh)));
  });
  return t;
}

Result<Tensor> turned_matrix(const Tensor& matrix) {
  if (matrix.rank() != 2 || matrix.type() != DType::kFloat32)
    return error("{} is no matrix of f32", tensor_type(matrix.type(), matrix.shape()).text());
  const int64_t rows = matrix.dim(0), columns = matrix.dim(1);
  Tensor out = OCTET_TRY(Tensor::zeros(DType::kFloat32, {columns, rows}));
  const Tensor from = matrix.aligned();
  const std::span<const float> x = from.data<float>();
  const std::span<float> y = out.mutable_data<float>();
  constexpr int64_t kTile = 32; // both sides of a tile stay in the first cache
  for (int64_t r0 = 0; r0 < rows; r0 += kTile)
    for (int64_t c0 = 0; c0 < columns; c0 += kTile)
      for (int64_t c = c0; c < std::min(c0 + kTile, columns); ++c)
        for (int64_t r = r0; r < std::min(r0 + kTile, rows); ++r)
          y[static_cast<size_t>(c * rows + r)] = x[static_cast<size_t>(r * columns + c)];
  return out;
}

Result<Graph> make_bert(const BertOptions& options) {
  return build_bert(options,
                    [&](const BertParameter& p) { return initial_bert_parameter(options, p); });
}

Result<BertOptions> bert_options(const Graph& graph) {
  if (const std::string* config = find_metadata(graph.info.metadata, kBertMetadata))
    return parse_bert_config(*config).with("metadata " + std::string(kBertMetadata));
  return error("graph \"{}\" was not built as a BERT: it has no metadata {}", graph.name,
               kBertMetadata);
}

Result<BertTransfer> rebuild_bert(const Graph& from, const BertOptions& options) {
  BertTransfer out;
  out.graph = OCTET_TRY(build_bert(options, [&](const BertParameter& p) -> Result<Tensor> {
    const auto value = from.find_value(p.name);
    const Tensor* found = value ? from.constant(*value) : nullptr;
    const bool other_classes =
        found != nullptr && p.name.starts_with("classifier.") && found->shape() != p.shape;
    if (found == nullptr || other_classes) {
      out.fresh.push_back(p.name);
      return initial_bert_parameter(options, p);
    }
    return *found;
  }));
  return out;
}

} // namespace octet
