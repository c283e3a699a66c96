// SPDX-License-Identifier: Apache-2.0
// Shards are merged in their order, which moving averages depend on.
#include <algorithm>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/string_util.h"
#include "quant/ranges/shard_text.h"

namespace octet {

namespace {

constexpr size_t kMaxShardBytes = size_t{1} << 32;

Result<RangeShard> load_shard(const std::string& path) {
  return parse_shard_text(OCTET_TRY(read_file(path, kMaxShardBytes))).with(path);
}

/// Errors say in what two runs differ.
Status check_same_run(const ShardedRun& a, const ShardedRun& b, const std::string& first) {
  const auto differs = [&](std::string_view what, const auto& mine, const auto& theirs) -> Status {
    return error("{} {}, that of {} {}; shards of one calibration have all the same", what, mine,
                 first, theirs);
  };
  const auto hash = [](uint64_t h) { return fmt::format("{:016x}", h); };
  if (a.octet != b.octet) return differs("octet's version is", b.octet, a.octet);
  if (a.graph_hash != b.graph_hash)
    return differs("the model is", hash(b.graph_hash), hash(a.graph_hash));
  if (a.samples != b.samples) return differs("the number of samples is", b.samples, a.samples);
  if (a.batch_size != b.batch_size) return differs("the batch is", b.batch_size, a.batch_size);
  if (a.data_hash != b.data_hash)
    return differs("the data is", fmt::format("{} ({})", b.data, hash(b.data_hash)),
                   fmt::format("{} ({})", a.data, hash(a.data_hash)));
  if (a.calibrator != b.calibrator)
    return differs("the calibrator is", name(b.calibrator), name(a.calibrator));
  if (a.scheme != b.scheme)
    return differs("the scheme is", scheme_text(b.scheme), scheme_text(a.scheme));
  if (a.mask_input != b.mask_input)
    return differs("the mask is", fmt::format("\"{}\"", b.mask_input),
                   fmt::format("\"{}\"", a.mask_input));
  return ok_status();
}

/// Paths by part, all of them.
Result<std::vector<std::string>> in_order(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  ShardedRun run;
  for (const std::string& path : paths) {
    const RangeShard shard =
        OCTET_TRY(parse_shard_heading(OCTET_TRY(read_file(path, kMaxShardBytes))).with(path));
    const auto [index, count] = shard.shard;
    if (out.empty()) {
      run = shard.run;
      out.resize(static_cast<size_t>(count));
    }
    OCTET_TRY_WITH(check_same_run(run, shard.run, paths[0]), path);
    if (static_cast<int64_t>(out.size()) != count)
      return error("{}: it is a shard of {}, {} is one of {}", path, count, paths[0], out.size());
    std::string& place = out[static_cast<size_t>(index - 1)];
    if (!place.empty()) return error("{}: shard {}/{} is {} already", path, index, count, place);
    place = path;
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i].empty()) missing.push_back(fmt::format("{}/{}", i + 1, out.size()));
  if (!missing.empty())
    return error("missing: {}; observe them with octet calibrate --shard", join_some(missing));
  return out;
}

Status merge_into(RangeShard& all, const RangeShard& next) {
  if (all.tensors.size() != next.tensors.size())
    return error("{} tensors where others have {}", next.tensors.size(), all.tensors.size());
  for (size_t i = 0; i < all.tensors.size(); ++i) {
    const auto& [tensor, observer] = next.tensors[i];
    if (all.tensors[i].first != tensor)
      return error("tensor {} is \"{}\", in others \"{}\"", i, tensor, all.tensors[i].first);
    OCTET_TRY_WITH(all.tensors[i].second.merge(observer), fmt::format("\"{}\"", tensor));
  }
  all.samples += next.samples;
  return ok_status();
}

} // namespace

Result<RangeShard> merge_shards(const std::vector<std::string>& paths) {
  if (paths.empty()) return error("no shards to merge");
  const std::vector<std::string> ordered = OCTET_TRY(in_order(paths));
  RangeShard out = OCTET_TRY(load_shard(ordered[0]));
  for (size_t i = 1; i < ordered.size(); ++i)
    OCTET_TRY_WITH(merge_into(out, OCTET_TRY(load_shard(ordered[i]))), ordered[i]);
  out.shard = {};
  return out;
}

} // namespace octet
