// SPDX-License-Identifier: Apache-2.0
// Checkpoints.
#include "train/trainer/checkpoint.h"

#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/hash.h"
#include "core/json.h"
#include "train/convert.h"
#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>

namespace octet::train {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "octet-checkpoint-5";

std::string safetensors_type(DType type) {
  static const std::map<DType, std::string> kNames = {
      {DType::kFloat32, "F32"},   {DType::kFloat64, "F64"}, {DType::kFloat16, "F16"},
      {DType::kBfloat16, "BF16"}, {DType::kInt64, "I64"},   {DType::kInt32, "I32"},
      {DType::kInt8, "I8"},       {DType::kUint8, "U8"}};
  const auto found = kNames.find(type);
  return found == kNames.end() ? std::string(name(type)) : found->second;
}

json to_json(const std::vector<TermRecord>& terms) {
  json out = json::array();
  for (const TermRecord& t : terms)
    out.push_back(
        {t.output, t.loss, t.accuracy, t.labels, static_cast<int>(t.metric), t.absolute_error});
  return out;
}
std::vector<TermRecord> terms_from(const json& j) {
  std::vector<TermRecord> out;
  for (const json& t : j)
    out.push_back(
        {t.at(0), t.at(1), t.at(2), t.at(3), static_cast<TermMetric>(t.at(4).get<int>()), t.at(5)});
  return out;
}

json to_json(const EpochRecord& r) {
  return {r.epoch, r.train_loss, r.train_accuracy, r.validation_loss, r.validation_accuracy,
          r.lr,    r.seconds,    r.train_seconds,  to_json(r.terms)};
}
EpochRecord epoch_from(const json& j) {
  return {
      j.at(0), j.at(1), j.at(2), j.at(3), j.at(4), j.at(5), j.at(6), j.at(7), terms_from(j.at(8))};
}

json to_json(const EvaluationRecord& r) {
  return {r.step, r.epoch, r.loss, r.accuracy, r.best, to_json(r.terms)};
}
EvaluationRecord evaluation_from(const json& j) {
  return {j.at(0), j.at(1), j.at(2), j.at(3), j.at(4), terms_from(j.at(5))};
}

/// Calls fn(name, member) for every counter that is a number, a flag or a list of numbers.
template <class Counters, class Fn>
void for_each_counter(Counters& c, const Fn& fn) {
  fn("epoch", c.epoch);
  fn("epoch_step", c.epoch_step);
  fn("step", c.step);
  fn("skipped", c.skipped);
  fn("loss_sum", c.loss_sum);
  fn("seen", c.seen);
  fn("term_loss", c.term_loss);
  fn("term_correct", c.term_correct);
  fn("term_labels", c.term_labels);
  fn("best_epoch", c.best_epoch);
  fn("best_step", c.best_step);
  fn("best_score", c.best_score);
  fn("best_loss", c.best_loss);
  fn("first_loss", c.first_loss);
  fn("recent_losses", c.recent_losses);
  fn("lowest_loss", c.lowest_loss);
  fn("lowest_step", c.lowest_step);
  fn("since_best", c.since_best);
  fn("stopped", c.stopped);
  fn("loss_scale", c.loss_scale);
  fn("loss_scale_steps", c.loss_scale_steps);
}

json to_json(const RunCounters& c) {
  json out;
  for_each_counter(c, [&](const char* name, const auto& member) { out[name] = member; });
  for (const char* list : {"history", "evaluations", "findings"})
    out[list] = json::array();
  for (const EpochRecord& r : c.history)
    out["history"].push_back(to_json(r));
  for (const EvaluationRecord& r : c.evaluations)
    out["evaluations"].push_back(to_json(r));
  for (const TrainFinding& f : c.findings)
    out["findings"].push_back({static_cast<int>(f.kind), f.epoch, f.message});
  return out;
}

RunCounters counters_from(const json& j) {
  RunCounters c;
  for_each_counter(c, [&](const char* name, auto& member) { j.at(name).get_to(member); });
  for (const json& r : j.at("history"))
    c.history.push_back(epoch_from(r));
  for (const json& f : j.at("findings"))
    c.findings.push_back({static_cast<TrainFinding::Kind>(f.at(0).get<int>()), f.at(1), f.at(2)});
  for (const json& r : j.at("evaluations"))
    c.evaluations.push_back(evaluation_from(r));
  return c;
}

json to_json(const std::vector<RunSetting>& list) {
  json out = json::array();
  for (const RunSetting& s : list)
    out.push_back({s.name, s.value});
  return out;
}
std::vector<RunSetting> settings_from(const json& j) {
  std::vector<RunSetting> out;
  for (const json& s : j)
    out.push_back({s.at(0), s.at(1)});
  return out;
}

/// As text; what is not UTF-8 in it is replaced.
std::string text_of(const RunIdentity& identity) {
  return json_text(json({to_json(identity.decides), to_json(identity.explains)}), -1);
}
Result<RunIdentity> identity_from(const std::string& text) {
  const json j = OCTET_TRY(parse_json(text));
  return RunIdentity{settings_from(j.at(0)), settings_from(j.at(1))};
}

Status read_tensor(const json& entry,
                   std::string_view data,
                   const std::string& tensor_name,
                   const at::Tensor& target) {
  const DType type = dtype_of(target.scalar_type());
  const Shape shape = target.sizes().vec();
  const auto offsets = entry.at("data_offsets").get<std::vector<size_t>>();
  if (entry.at("dtype") != safetensors_type(type) || entry.at("shape").get<Shape>() != shape)
    return error("tensor \"{}\" has another type or shape", tensor_name);
  octet::Tensor held = OCTET_TRY(octet::Tensor::zeros(type, shape));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size() ||
      offsets[1] - offsets[0] != held.bytes().size())
    return error("tensor \"{}\" lies outside of the file", tensor_name);
  if (!held.bytes().empty())
    std::memcpy(held.mutable_bytes().data(), data.data() + offsets[0], held.bytes().size());
  const at::NoGradGuard no_gradient;
  target.copy_(to_torch(held));
  return ok_status();
}

Result<RunCounters>
parse(std::string_view file, const RunIdentity& identity, const NamedTensors& tensors) {
  uint64_t header_bytes = 0;
  if (file.size() < 8) return error("the file is cut off");
  std::memcpy(&header_bytes, file.data(), 8);
  if (header_bytes > file.size() - 8) return error("the file is cut off");
  const json header = OCTET_TRY_WITH(parse_json(file.substr(8, header_bytes)), "the header");
  if (!header.contains("__metadata__")) return error("the header cannot be read");
  const std::string_view data = file.substr(8 + header_bytes);
  const json& meta = header.at("__metadata__");
  if (meta.at("format") != kFormat)
    return error("another version of octet wrote it ({}, this one writes {}): go on with that "
                 "version, or start over with --force instead of --resume",
                 meta.at("format").get<std::string>(), kFormat);
  const RunIdentity ours = OCTET_TRY(identity_from(text_of(identity))),
                    theirs = OCTET_TRY(identity_from(meta.at("identity").get<std::string>()));
  if (const std::string why = difference(ours, theirs); !why.empty()) return Error(why);
  if (meta.at("hash") != fmt::format("{:016x}", hash_bytes(std::as_bytes(std::span(data)))))
    return error("its content is damaged");
  if (header.size() != tensors.size() + 1)
    return error("it holds {} tensors, not {}", header.size() - 1, tensors.size());
  for (const auto& [key, tensor] : tensors) {
    if (!header.contains(key)) return error("tensor \"{}\" is missing", key);
    OCTET_TRY(read_tensor(header.at(key), data, key, tensor));
  }
  return counters_from(OCTET_TRY(parse_json(meta.at("counters").get<std::string>())));
}

} // namespace

Status save_checkpoint(const std::string& path,
                       const RunIdentity& identity,
                       const RunCounters& counters,
                       const NamedTensors& tensors) {
  // Copied twice, one tensor at a time: the state may fill most of the memory.
  PieceHash hasher;
  size_t end = 0;
  json header;
  for (const auto& [key, tensor] : tensors) {
    const octet::Tensor t = from_torch(tensor);
    hasher.add(t.bytes());
    const size_t begin = std::exchange(end, end + t.bytes().size());
    header[key] = {{"dtype", safetensors_type(t.type())},
                   {"shape", t.shape()},
                   {"data_offsets", {begin, end}}};
  }
  header["__metadata__"] = {{"format", kFormat},
                            {"identity", text_of(identity)},
                            {"counters", json_text(to_json(counters), -1)},
                            {"hash", fmt::format("{:016x}", hasher.value())}};
  std::string text = json_text(header, -1);
  text.resize((text.size() + 7) / 8 * 8, ' '); // tensors start 8-aligned
  const uint64_t length = text.size();
  AtomicFile file = OCTET_TRY(AtomicFile::create(path, Overwrite::kYes));
  OCTET_TRY(file.write(std::string_view(reinterpret_cast<const char*>(&length), 8)));
  OCTET_TRY(file.write(text));
  for (const auto& [key, tensor] : tensors)
    OCTET_TRY(file.write(from_torch(tensor).bytes()));
  return file.commit();
}

Result<RunCounters>
load_checkpoint(const std::string& path, const RunIdentity& identity, const NamedTensors& tensors) {
  const std::shared_ptr<Buffer> mapped = OCTET_TRY(Buffer::map(path));
  const std::string_view file(reinterpret_cast<const char*>(mapped->bytes().data()),
                              mapped->bytes().size());
  try {
    return parse(file, identity, tensors).with(fmt::format("checkpoint {}", path));
  } catch (const json::exception& e) {
    return error("checkpoint {}: the header cannot be read ({})", path, e.what());
  }
}

} // namespace octet::train
