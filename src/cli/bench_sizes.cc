// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_sizes.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "cli/command.h"
#include "cli/random_inputs.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/json.h"
#include "core/philox.h"
#include "core/string_util.h"
#include <nlohmann/json.hpp>

#include "octet/metrics.h"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> open_symbols(const Graph& graph) {
  std::set<std::string> out;
  for (const ValueId id : graph.inputs())
    for (const Dim& d : graph.value(id).type.shape.value_or(std::vector<Dim>{}))
      if (const auto symbol = d.symbol_name()) out.insert(*symbol);
  return {out.begin(), out.end()};
}

std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<Shape> out;
  out.reserve(tensors.size());
  for (const Tensor& t : tensors)
    out.push_back(t.shape());
  return out;
}

double micros(Clock::duration d) {
  return 1e3 * milliseconds(d);
}

} // namespace

Result<std::vector<SizeRange>> parse_size_ranges(const Graph& graph,
                                                 const std::vector<std::string>& items) {
  const std::vector<std::string> symbols = open_symbols(graph);
  std::vector<SizeRange> out;
  for (const std::string& item : items) {
    const size_t equals = item.rfind('=');
    const std::string symbol = item.substr(0, equals);
    const auto parts =
        split(equals == std::string::npos ? std::string_view()
                                          : std::string_view(item).substr(equals + 1),
              ':');
    SizeRange range{.symbol = symbol};
    if (parts.size() == 2 || parts.size() == 3) {
      range.low = whole_number(parts[0]);
      range.high = whole_number(parts[1]);
      if (parts.size() == 3) range.step = whole_number(parts[2]);
    }
    if ((parts.size() != 2 && parts.size() != 3) || range.low <= 0 || range.high < range.low ||
        range.step <= 0)
      return error("--sizes \"{}\": write NAME=LOW:HIGH or NAME=LOW:HIGH:STEP, sizes from 1", item);
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
      return error("--sizes: no input has an open size \"{}\"{}", symbol,
                   suggestion(symbol, symbols));
    out.push_back(std::move(range));
  }
  return out;
}

Result<SizeTimes> time_sizes(const Session& session,
                             const Graph& graph,
                             const std::vector<SizeRange>& ranges,
                             double seconds,
                             uint64_t seed) {
  SizeTimes out;
  SessionContext context = session.context();
  std::map<std::string, int64_t> sizes;
  for (const SizeRange& range : ranges)
    sizes[range.symbol] = range.low + (range.high - range.low) / range.step * range.step;
  const auto largest = shapes_of(OCTET_TRY(random_inputs(graph, {}, sizes, seed)));
  const auto begin = Clock::now();
  OCTET_TRY(context.reserve(largest));
  out.reserve_ms = milliseconds(Clock::now() - begin);
  Philox random(seed);
  const Interruptible interruptible;
  do {
    for (const SizeRange& range : ranges)
      sizes[range.symbol] =
          range.low + range.step * random.below((range.high - range.low) / range.step + 1);
    const std::vector<Tensor> inputs = OCTET_TRY(random_inputs(graph, {}, sizes, seed));
    const std::vector<Shape> shapes = shapes_of(inputs);
    const auto bind = Clock::now();
    OCTET_TRY(context.reserve(shapes));
    const auto run = Clock::now();
    OCTET_TRY(context.run(inputs));
    out.runs.push_back({sizes, micros(run - bind), milliseconds(Clock::now() - run)});
  } while (milliseconds(Clock::now() - begin) < 1e3 * seconds && !interruptible.stopped());
  out.counts = context.plan_counts();
  out.arena_bytes = context.arena_bytes();
  return out;
}

namespace {

struct Columns {
  std::vector<double> bind_us, run_ms;
  explicit Columns(const SizeTimes& times) {
    for (const SizeTimes::One& one : times.runs) {
      bind_us.push_back(one.bind_us);
      run_ms.push_back(one.run_ms);
    }
  }
};

} // namespace

std::string text(const SizeTimes& times) {
  const Columns c(times);
  return fmt::format(
      "the largest sizes: planned in {:.3f} ms, {} bytes of activations\n"
      "sizes in random order: bound in median {:.1f} us, min {:.1f}, p99 {:.1f}; run in median "
      "{:.4f} ms; {}; {}, {}, memory laid out {}\n",
      times.reserve_ms, times.arena_bytes, quantile(c.bind_us, 0.5), quantile(c.bind_us, 0),
      quantile(c.bind_us, 0.99), quantile(c.run_ms, 0.5), counted(std::ssize(times.runs), "run"),
      counted(times.counts.plans, "plan"), counted(times.counts.bindings, "binding"),
      counted(times.counts.layouts, "time"));
}

std::string json(const SizeTimes& times) {
  const Columns c(times);
  nlohmann::ordered_json out = {{"reserve_ms", times.reserve_ms},
                                {"arena_bytes", times.arena_bytes},
                                {"bind_us_min", quantile(c.bind_us, 0)},
                                {"bind_us_median", quantile(c.bind_us, 0.5)},
                                {"bind_us_p99", quantile(c.bind_us, 0.99)},
                                {"latency_ms_median", quantile(c.run_ms, 0.5)},
                                {"plans", times.counts.plans},
                                {"bindings", times.counts.bindings},
                                {"layouts", times.counts.layouts}};
  for (const SizeTimes::One& one : times.runs)
    out["runs"].push_back(
        {{"sizes", one.sizes}, {"bind_us", one.bind_us}, {"latency_ms", one.run_ms}});
  return json_text(out);
}

} // namespace octet::cli
