// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_lengths.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>

#include "cli/random_inputs.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include <nlohmann/json.hpp>

#include "octet/metrics.h"
#include "octet/session.h"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::vector<int64_t>> parse_line(std::string_view line, const std::string& where) {
  std::vector<int64_t> out;
  for (const std::string_view part : split(line, ',')) {
    out.push_back(whole_number(part));
    if (out.back() <= 0)
      return error("{}: \"{}\" is no length; write tokens of sequences by commas, from 1 on", where,
                   part);
  }
  return out;
}

int64_t longest(const std::vector<int64_t>& lengths) {
  return *std::max_element(lengths.begin(), lengths.end());
}

/// Inputs of one batch.
struct Inputs {
  std::vector<int64_t> offsets = {0};
  std::vector<Tensor> packed, padded;
};

Result<Inputs> make_inputs(const Graph& graph,
                           const Graph& packed,
                           const std::vector<int64_t>& lengths,
                           Beside beside,
                           uint64_t seed) {
  Inputs out;
  for (const int64_t length : lengths)
    out.offsets.push_back(out.offsets.back() + length);
  const auto batch = std::ssize(lengths);
  out.packed = OCTET_TRY(
      random_inputs(packed, {}, {{"tokens", out.offsets.back()}, {"sequences", batch}}, seed));
  out.packed.pop_back(); // the offsets
  if (beside == Beside::kNothing) return out;
  InputShapes shapes;
  for (const ValueId id : graph.inputs())
    shapes[graph.value(id).name] = {batch, longest(lengths)};
  out.padded = OCTET_TRY(random_inputs(graph, shapes, {}, seed));
  for (size_t i = 0; i < out.padded.size(); ++i) {
    const Value& v = graph.value(graph.inputs()[i]);
    const auto found = packed.find_value(v.name);
    if (found && packed.value(*found).kind == ValueKind::kInput) continue;
    std::vector<double> mask;
    for (const int64_t length : lengths)
      for (int64_t t = 0; t < longest(lengths); ++t)
        mask.push_back(t < length ? 1 : 0);
    out.padded[i] = OCTET_TRY(Tensor::from_doubles(v.type.type, out.padded[i].shape(), mask));
  }
  return out;
}

} // namespace

Result<LengthBatches> parse_lengths(const std::string& lengths) {
  LengthBatches out;
  if (!std::filesystem::exists(lengths)) {
    out.push_back(OCTET_TRY(parse_line(lengths, "--lengths")));
    return out;
  }
  std::ifstream file(lengths);
  std::string line;
  while (std::getline(file, line))
    if (!line.empty()) out.push_back(OCTET_TRY(parse_line(line, lengths)));
  if (out.empty()) return error("{}: holds no lengths; write a line for each batch", lengths);
  return out;
}

Result<LengthTimes> time_lengths(const Graph& graph,
                                 const LengthBatches& batches,
                                 Beside beside,
                                 double seconds,
                                 const Common& common) {
  const Session packed =
      OCTET_TRY(Session::create(graph, {.threads = common.threads, .packed = true}));
  std::optional<Session> padded;
  if (beside == Beside::kPadded)
    padded.emplace(OCTET_TRY(Session::create(graph, {.threads = common.threads})));
  LengthTimes out;
  out.isa = packed.isa();
  out.threads = packed.threads();
  std::vector<Inputs> inputs;
  inputs.reserve(batches.size());
  for (const std::vector<int64_t>& lengths : batches) {
    inputs.push_back(OCTET_TRY(make_inputs(graph, packed.lowered(), lengths, beside, common.seed)));
    out.batches += 1;
    out.sequences += std::ssize(lengths);
    out.tokens += inputs.back().offsets.back();
    out.padded_tokens += std::ssize(lengths) * longest(lengths);
  }
  SessionContext context = packed.context();
  std::optional<SessionContext> padded_context;
  if (padded) padded_context.emplace(padded->context());
  const auto pass = [&]() -> Status {
    const auto begin = Clock::now();
    for (const Inputs& each : inputs)
      OCTET_TRY(context.run_packed(each.packed, each.offsets));
    const auto middle = Clock::now();
    out.packed_ms.push_back(milliseconds(middle - begin));
    if (!padded_context) return ok_status();
    for (const Inputs& each : inputs)
      OCTET_TRY(padded_context->run(each.padded));
    out.padded_ms.push_back(milliseconds(Clock::now() - middle));
    return ok_status();
  };
  const Interruptible interruptible;
  OCTET_TRY(pass());
  out.packed_ms.clear();
  out.padded_ms.clear();
  const auto begin = Clock::now();
  do {
    OCTET_TRY(pass());
  } while (milliseconds(Clock::now() - begin) < 1e3 * seconds && !interruptible.stopped());
  return out;
}

std::string text(const LengthTimes& times) {
  const auto one = [&](const char* how, const std::vector<double>& ms) {
    const double median = quantile(ms, 0.5);
    return fmt::format("{}: median {:.3f} ms, min {:.3f}; {:.0f} tokens/s, {:.1f} sequences/s\n",
                       how, median, quantile(ms, 0),
                       1e3 * static_cast<double>(times.tokens) / median,
                       1e3 * static_cast<double>(times.sequences) / median);
  };
  std::string out = fmt::format(
      "{} batches, {}, {}; padded they are {:.2f} times as many; {}, {}\n", times.batches,
      counted(times.sequences, "sequence"), counted(times.tokens, "token"),
      static_cast<double>(times.padded_tokens) / static_cast<double>(times.tokens),
      counted(times.threads, "thread"), times.isa);
  out += one("packed", times.packed_ms);
  if (!times.padded_ms.empty()) out += one("padded", times.padded_ms);
  return out;
}

std::string json(const LengthTimes& times) {
  nlohmann::ordered_json out = {{"batches", times.batches},
                                {"sequences", times.sequences},
                                {"tokens", times.tokens},
                                {"padded_tokens", times.padded_tokens},
                                {"threads", times.threads},
                                {"isa", times.isa},
                                {"packed_ms_min", quantile(times.packed_ms, 0)},
                                {"packed_ms_median", quantile(times.packed_ms, 0.5)}};
  if (!times.padded_ms.empty()) {
    out["padded_ms_min"] = quantile(times.padded_ms, 0);
    out["padded_ms_median"] = quantile(times.padded_ms, 0.5);
  }
  return json_text(out);
}

} // namespace octet::cli
