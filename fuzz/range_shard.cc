// SPDX-License-Identifier: Apache-2.0
// What a machine observed of its part: whatever the bytes are, an error comes out, or observers that
// can be written, merged and asked for their ranges. The hash at the end, which no mutation meets, is
// put there anew.
#include <cmath>
#include <cstdlib>

#include "core/hash.h"
#include "replay/seeds.h"
#include <fmt/format.h>

#include "octet/graph_text.h"
#include "octet/range_shards.h"

namespace octet::fuzz {
namespace {

std::string without_hash(const std::string& text) {
  return text.substr(0, text.rfind('\n', text.size() - 2) + 1);
}

std::string seed(const Calibrator& calibrator, bool symmetric) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\n"
                                  "input x: f32[2, 1, 28, 28]\n"
                                  "r = Relu(x)\n"
                                  "n = Neg(r)\n"
                                  "output n: f32[2, 1, 28, 28]\n")
                          .value();
  const auto data = open_dataset("generated", Split::kTrain).value();
  const QuantizeOptions options{
      .calibrator = calibrator, .symmetric = symmetric, .samples = 8, .batch_size = 2};
  return without_hash(shard_text(observe_shard(graph, *data, options, {2, 3}).value()));
}

void check(const RangeShard& shard, std::string_view text) {
  RangeShard again = parse_shard_text(text).value();
  const std::string written = shard_text(shard);
  const auto reread = parse_shard_text(written);
  if (!reread.ok() || shard_text(*reread) != written) std::abort();
  for (size_t i = 0; i < shard.tensors.size(); ++i)
    if (!again.tensors[i].second.merge(shard.tensors[i].second).ok()) std::abort();
  for (const RangeShard* s : {&shard, static_cast<const RangeShard*>(&again)}) {
    const auto ranges = ranges_of(*s);
    if (!ranges.ok()) continue; // a tensor of which nothing was seen
    for (const TensorRange& r : *ranges)
      if (!std::isfinite(r.range.lo) || !std::isfinite(r.range.hi) || r.range.lo > r.range.hi)
        std::abort();
  }
}

} // namespace

std::vector<std::string> seeds() {
  return {seed(MinMax{}, true), seed(MovingAverage{}, true), seed(Percentile{}, false),
          seed(Entropy{}, true), seed(Mse{}, false)};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string whole =
      fmt::format("{}{{\"xxh64\":\"{:016x}\"}}\n", text, octet::hash_bytes(text));
  for (const std::string_view one : {text, std::string_view(whole)})
    if (const auto shard = octet::parse_shard_text(one); shard.ok())
      octet::fuzz::check(*shard, one);
  return 0;
}
