// SPDX-License-Identifier: Apache-2.0
// Shards as lines of JSON. Each line is read by itself, so that a shard of many tensors takes little
// more memory than its observers.
#include "quant/ranges/shard_text.h"

#include "core/format.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/string_util.h"
#include "quant/observers/state.h"
#include <nlohmann/json.hpp>

namespace octet {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr int kShardVersion = 1;
constexpr std::string_view kBeginning = "{\"octet_range_shard\":";

Result<int64_t> number_at(const Json& object, const char* key) {
  return read_count(*OCTET_TRY(member(object, key))).with(fmt::format("\"{}\"", key));
}

std::string heading_line(const RangeShard& s) {
  const OrderedJson out = {{"octet_range_shard", kShardVersion},
                           {"octet", s.run.octet},
                           {"shard", s.shard.index},
                           {"of", s.shard.count},
                           {"model", hash_text(s.run.graph_hash)},
                           {"data", s.run.data},
                           {"data_hash", hash_text(s.run.data_hash)},
                           {"calibrator", name(s.run.calibrator)},
                           {"symmetric", s.run.scheme.symmetric},
                           {"mask_input", s.run.mask_input},
                           {"samples", s.run.samples},
                           {"batch", s.run.batch_size},
                           {"seen", s.samples},
                           {"tensors", s.tensors.size()}};
  return json_text(out, -1);
}

struct Heading {
  RangeShard shard; ///< without tensors
  int64_t tensors = 0;
};

Result<Heading> read_heading(std::string_view text) {
  if (!is_shard_text(text)) return error("no shard of octet calibrate --shard");
  const size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos) return error("the file ends within its first line");
  const Json json = OCTET_TRY(parse_json(text.substr(0, line_end)));
  const int64_t version = OCTET_TRY(number_at(json, "octet_range_shard"));
  if (version != kShardVersion)
    return error("shards of version {} are not known, only {}", version, kShardVersion);
  Heading out;
  ShardedRun& run = out.shard.run;
  run.octet = OCTET_TRY(text_at(json, "octet"));
  out.shard.shard = {OCTET_TRY(number_at(json, "shard")), OCTET_TRY(number_at(json, "of"))};
  const auto [index, count] = out.shard.shard;
  if (count < 1 || count > kMostShards || index < 1 || index > count)
    return error("there is no shard {} of {}", index, count);
  run.graph_hash = OCTET_TRY(hash_at(json, "model"));
  run.data = OCTET_TRY(text_at(json, "data"));
  run.data_hash = OCTET_TRY(hash_at(json, "data_hash"));
  run.calibrator = OCTET_TRY(parse_calibrator(OCTET_TRY(text_at(json, "calibrator"))));
  if (std::holds_alternative<Auto>(run.calibrator)) return error("auto observes no shards");
  const Json& symmetric = *OCTET_TRY(member(json, "symmetric"));
  if (!symmetric.is_boolean()) return error("\"symmetric\" is not true or false");
  run.scheme = {DType::kInt8, symmetric.get<bool>(), false};
  run.mask_input = OCTET_TRY(text_at(json, "mask_input"));
  run.samples = OCTET_TRY(number_at(json, "samples"));
  run.batch_size = OCTET_TRY(number_at(json, "batch"));
  out.shard.samples = OCTET_TRY(number_at(json, "seen"));
  out.tensors = OCTET_TRY(number_at(json, "tensors"));
  return out;
}

Result<std::pair<std::string, Observer>> read_shard_tensor(std::string_view line,
                                                           const ShardedRun& run) {
  const Json json = OCTET_TRY(parse_json(line));
  std::string tensor = OCTET_TRY(text_at(json, "tensor"));
  Observer observer = OCTET_TRY_WITH(ObserverState::read(json, run.calibrator, run.scheme),
                                     fmt::format("\"{}\"", tensor));
  return std::pair(std::move(tensor), std::move(observer));
}

} // namespace

Result<Shard> parse_shard(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const Shard out{whole_number(text.substr(0, slash)), whole_number(text.substr(slash + 1))};
    if (out.index >= 1 && out.index <= out.count && out.count <= kMostShards) return out;
  }
  return error("\"{}\" names no shard; use 1/8 to 8/8 for eight of them, up to {}", text,
               kMostShards);
}

std::string shard_text(const RangeShard& shard) {
  std::string out = heading_line(shard) + "\n";
  for (const auto& [tensor, observer] : shard.tensors) {
    OrderedJson line;
    line["tensor"] = tensor;
    line.update(ObserverState::write(observer));
    out += json_text(line, -1) + "\n";
  }
  return out + fmt::format("{{\"xxh64\":\"{}\"}}\n", hash_text(hash_bytes(std::string_view(out))));
}

Result<RangeShard> parse_shard_text(std::string_view text) {
  auto [out, tensors] = OCTET_TRY_WITH(read_heading(text), "line 1");
  size_t begin = text.find('\n') + 1;
  for (int64_t i = 0; i < tensors; ++i) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos)
      return error("the file ends behind {} of {} tensors", i, tensors);
    out.tensors.push_back(
        OCTET_TRY_WITH(read_shard_tensor(text.substr(begin, end - begin), out.run),
                       fmt::format("line {}", i + 2)));
    begin = end + 1;
  }
  const std::string ending =
      fmt::format("{{\"xxh64\":\"{}\"}}\n", hash_text(hash_bytes(text.substr(0, begin))));
  if (text.substr(begin) != ending)
    return error(
        "the hash at its end is not that of the lines before: the file is not whole or was "
        "changed");
  return std::move(out);
}

Result<RangeShard> parse_shard_heading(std::string_view text) {
  return std::move(OCTET_TRY_WITH(read_heading(text), "line 1").shard);
}

bool is_shard_text(std::string_view text) {
  return text.starts_with(kBeginning);
}

} // namespace octet
