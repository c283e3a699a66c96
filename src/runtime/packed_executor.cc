// SPDX-License-Identifier: Apache-2.0
#include "runtime/packed_executor.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/format.h"

namespace octet::runtime {
namespace {

/// Where the tokens of a padded batch lie.
struct Tokens {
  int64_t batch = 0;
  int64_t length = 0;
  std::vector<int64_t> offsets; ///< of sequences in the packed batch
};

/// Nullopt: some sequence has no token, or one behind padding.
std::optional<Tokens> read_mask(const Tensor& mask) {
  auto values = mask.rank() == 2 ? mask.to_doubles() : Result<std::vector<double>>(Error(""));
  if (!values.ok()) return std::nullopt;
  Tokens out{mask.dim(0), mask.dim(1), {0}};
  for (int64_t b = 0; b < out.batch; ++b) {
    const auto row = values->begin() + b * out.length;
    const auto end = std::find_if(row, row + out.length, [](double v) { return v != 1; });
    if (end == row || std::any_of(end, row + out.length, [](double v) { return v != 0; }))
      return std::nullopt;
    out.offsets.push_back(out.offsets.back() + (end - row));
  }
  return out;
}

/// Copies rows of `bytes` between a padded batch and a packed one.
template <class Copy>
void each_sequence(const Tokens& tokens, size_t bytes, const Copy& copy) {
  for (int64_t b = 0; b < tokens.batch; ++b) {
    const auto at = static_cast<size_t>(b);
    const auto first = static_cast<size_t>(tokens.offsets[at]);
    const auto count = static_cast<size_t>(tokens.offsets[at + 1]) - first;
    copy(at * static_cast<size_t>(tokens.length) * bytes, first * bytes, count * bytes);
  }
}

Result<Tensor> without_padding(const Tensor& padded, const Tokens& tokens) {
  Tensor out = OCTET_TRY(Tensor::zeros(padded.type(), {tokens.offsets.back()}));
  const auto from = padded.bytes();
  const auto to = out.mutable_bytes();
  const size_t bytes = from.empty() ? 0 : from.size() / static_cast<size_t>(padded.count());
  each_sequence(tokens, bytes, [&](size_t source, size_t target, size_t size) {
    std::memcpy(to.data() + target, from.data() + source, size);
  });
  return out;
}

/// [tokens, rest] as [batch, length, rest], or of one rank less [batch * length, rest].
Result<Tensor> with_padding(const Tensor& packed, const Tokens& tokens, int64_t rank) {
  Shape shape(packed.shape().begin() + 1, packed.shape().end());
  if (rank == packed.rank()) {
    shape.insert(shape.begin(), tokens.batch * tokens.length);
  } else {
    shape.insert(shape.begin(), tokens.length);
    shape.insert(shape.begin(), tokens.batch);
  }
  Tensor out = OCTET_TRY(Tensor::zeros(packed.type(), std::move(shape)));
  const auto from = packed.bytes();
  const auto to = out.mutable_bytes();
  const auto rows = static_cast<size_t>(packed.dim(0));
  each_sequence(tokens, rows == 0 ? 0 : from.size() / rows,
                [&](size_t target, size_t source, size_t size) {
                  std::memcpy(to.data() + target, from.data() + source, size);
                });
  return out;
}

class PackedExecutor final : public Executor {
 public:
  PackedExecutor(const Graph& graph, SessionOptions options, Session packed)
      : graph_(graph), options_(std::move(options)), packed_(std::move(packed)),
        context_(packed_.context()) {}

  /// Which inputs are masks, and which outputs tokens.
  Status look() {
    const Graph& packed = packed_.lowered();
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const auto found = packed.find_value(graph_.value(graph_.inputs()[i]).name);
      const bool stays = found && std::find(packed.inputs().begin(), packed.inputs().end(),
                                            *found) != packed.inputs().end();
      (stays ? tokens_ : masks_).push_back(i);
    }
    if (masks_.empty())
      return error(ErrorCode::kUnsupported,
                   "the model has no mask, which would say what is padding");
    for (const ValueId id : packed.outputs()) {
      const TypeInfo& type = packed.value(id).type;
      of_tokens_.push_back(type.has_rank() && type.rank() > 0 &&
                           (*type.shape)[0] == Dim::symbol("tokens"));
    }
    return ok_status();
  }

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    const auto tokens = tokens_of(inputs);
    if (!tokens) return (OCTET_TRY(padded()))->run(inputs);
    std::vector<Tensor> values;
    values.reserve(tokens_.size());
    for (const size_t i : tokens_)
      values.push_back(OCTET_TRY(without_padding(inputs[i], *tokens)));
    const auto outputs = OCTET_TRY(context_.run_packed(values, tokens->offsets));
    std::vector<Tensor> out;
    out.reserve(outputs.size());
    for (size_t k = 0; k < outputs.size(); ++k) {
      const TypeInfo& type = graph_.value(graph_.outputs()[k]).type;
      const int64_t rank = type.has_rank() ? type.rank() : outputs[k].rank() + 1;
      out.push_back(of_tokens_[k] ? OCTET_TRY(with_padding(outputs[k], *tokens, rank))
                                  : outputs[k].clone());
    }
    return out;
  }

 private:
  /// Nullopt: the batch is run as it is, which also finds what does not fit.
  std::optional<Tokens> tokens_of(std::span<const Tensor> inputs) const {
    if (inputs.size() != graph_.inputs().size()) return std::nullopt;
    std::optional<Tokens> out;
    for (const size_t i : masks_) {
      const auto tokens = read_mask(inputs[i]);
      if (!tokens || (out && out->offsets != tokens->offsets)) return std::nullopt;
      out = tokens;
    }
    for (const size_t i : tokens_)
      if (inputs[i].shape() != inputs[masks_[0]].shape()) return std::nullopt;
    return out;
  }

  Result<Session*> padded() {
    if (!padded_) {
      SessionOptions options = options_;
      options.packed = false;
      padded_.emplace(OCTET_TRY(Session::create(graph_, options)));
    }
    return &*padded_;
  }

  Graph graph_;
  SessionOptions options_;
  Session packed_;
  SessionContext context_;
  std::optional<Session> padded_; ///< made when a batch asks for it
  std::vector<size_t> masks_, tokens_;
  std::vector<bool> of_tokens_;
};

} // namespace

Result<std::unique_ptr<Executor>> make_packed_executor(const Graph& graph,
                                                       const SessionOptions& options) {
  auto out =
      std::make_unique<PackedExecutor>(graph, options, OCTET_TRY(Session::create(graph, options)));
  OCTET_TRY(out->look());
  return std::unique_ptr<Executor>(std::move(out));
}

} // namespace octet::runtime
