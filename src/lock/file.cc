// SPDX-License-Identifier: Apache-2.0
#include "lock/file.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "data/npy.h"
#include <nlohmann/json.hpp>

namespace octet {

namespace {

using LockJson = nlohmann::ordered_json;
using Named = std::vector<std::pair<std::string, Tensor>>;

constexpr int64_t kLockForm = 1;
constexpr size_t kMaxLockBytes = size_t{1} << 30;

/// Types that NumPy has no name for are kept as bytes.
Tensor storable(const Tensor& tensor) {
  if (npy_parts(tensor).ok()) return tensor;
  return Tensor::of<uint8_t>(
      {static_cast<int64_t>(tensor.bytes().size())},
      std::span(reinterpret_cast<const uint8_t*>(tensor.bytes().data()), tensor.bytes().size()));
}

LockJson hashes_json(const std::vector<LockedHash>& hashes) {
  LockJson out = LockJson::array();
  for (const LockedHash& h : hashes)
    out.push_back({h.name, hash_text(h.hash)});
  return out;
}

LockJson tensors_json(const char* kind, const Named& tensors, NamedTensors& arrays) {
  LockJson out = LockJson::array();
  for (const auto& [name, tensor] : tensors) {
    arrays.emplace_back(fmt::format("{}/{}", kind, name), storable(tensor));
    out.push_back({{"name", name},
                   {"type", octet::name(tensor.type())},
                   {"shape", tensor.shape()},
                   {"xxh64", hash_text(tensor.content_hash())}});
  }
  return out;
}

Result<const nlohmann::json*> list_at(const nlohmann::json& object, const char* key) {
  const nlohmann::json& list = *OCTET_TRY(member(object, key));
  if (!list.is_array()) return error("\"{}\" is no list", key);
  return &list;
}

Result<std::vector<LockedHash>> read_hashes(const nlohmann::json& object, const char* key) {
  std::vector<LockedHash> out;
  for (const nlohmann::json& pair : *OCTET_TRY(list_at(object, key))) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string())
      return error("\"{}\" holds something else than pairs of name and hash", key);
    const nlohmann::json hash = {{key, pair[1]}};
    out.push_back({pair[0].get<std::string>(), OCTET_TRY(hash_at(hash, key))});
  }
  return out;
}

Result<Tensor>
read_tensor(const nlohmann::json& json, const char* kind, const NamedTensors& arrays) {
  const std::string name = OCTET_TRY(text_at(json, "name"));
  const std::string type_name = OCTET_TRY(text_at(json, "type"));
  const auto type = parse_dtype(type_name);
  if (!type) return error("\"{}\" is no type", type_name);
  Shape shape;
  for (const nlohmann::json& size : *OCTET_TRY(list_at(json, "shape"))) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t{1} << 40)
      return error("\"{}\": a size is no whole number up to 2^40", name);
    shape.push_back(size.get<int64_t>());
  }
  const std::string array = fmt::format("{}/{}", kind, name);
  const auto found = std::find_if(arrays.begin(), arrays.end(),
                                  [&](const auto& entry) { return entry.first == array; });
  if (found == arrays.end()) return error("the arrays beside it have no \"{}\"", array);
  Tensor tensor = found->second;
  if (tensor.type() != *type) {
    const int64_t count = OCTET_TRY(element_count(shape));
    if (*type == DType::kString || tensor.type() != DType::kUint8 ||
        bytes_for(*type, count) != tensor.count())
      return error("\"{}\" beside it is {}{}, not {}{}", array, octet::name(tensor.type()),
                   to_string(tensor.shape()), type_name, to_string(shape));
    const Tensor bytes = tensor;
    tensor = OCTET_TRY(Tensor::zeros(*type, shape));
    std::memcpy(tensor.mutable_bytes().data(), bytes.bytes().data(), bytes.bytes().size());
  }
  if (tensor.shape() != shape || tensor.content_hash() != OCTET_TRY(hash_at(json, "xxh64")))
    return error("\"{}\" beside it is not the one that it was written with", array);
  return tensor;
}

Result<Named>
read_tensors(const nlohmann::json& object, const char* key, const NamedTensors& arrays) {
  Named out;
  for (const nlohmann::json& json : *OCTET_TRY(list_at(object, key)))
    out.emplace_back(OCTET_TRY(text_at(json, "name")), OCTET_TRY(read_tensor(json, key, arrays)));
  return out;
}

Result<double> share_at(const nlohmann::json& object, const char* key) {
  const nlohmann::json& item = *OCTET_TRY(member(object, key));
  const double x = item.is_number() ? item.get<double>() : -1;
  if (!(x >= 0 && x <= 1)) return error("\"{}\" is no number from 0 to 1", key);
  return x;
}

Result<std::optional<LockedAccuracy>> read_accuracy(const nlohmann::json& json) {
  const nlohmann::json& item = *OCTET_TRY(member(json, "accuracy"));
  if (item.is_null()) return std::optional<LockedAccuracy>();
  LockedAccuracy out;
  out.data = OCTET_TRY(text_at(item, "data"));
  const nlohmann::json& examples = *OCTET_TRY(member(item, "examples"));
  if (!examples.is_number_unsigned() || examples.get<uint64_t>() > uint64_t{1} << 40)
    return error("\"examples\" is no whole number up to 2^40");
  out.examples = examples.get<int64_t>();
  out.accuracy = OCTET_TRY(share_at(item, "accuracy"));
  out.low = OCTET_TRY(share_at(item, "low"));
  out.high = OCTET_TRY(share_at(item, "high"));
  out.predictions = OCTET_TRY(hash_at(item, "predictions"));
  return std::optional(std::move(out));
}

} // namespace

std::string lock_arrays_path(const std::string& path) {
  constexpr std::string_view kExtension = ".json";
  return path.substr(0, path.size() - (path.ends_with(kExtension) ? kExtension.size() : 0)) +
         ".npz";
}

std::string lock_text(const Lock& lock, NamedTensors& arrays) {
  LockJson out = {{"octet_lock", kLockForm},
                  {"octet", lock.octet},
                  {"isa", lock.isa},
                  {"model", lock.model},
                  {"accuracy", nullptr}};
  if (const auto& a = lock.accuracy)
    out["accuracy"] = {{"data", a->data},         {"examples", a->examples},
                       {"accuracy", a->accuracy}, {"low", a->low},
                       {"high", a->high},         {"predictions", hash_text(a->predictions)}};
  out["inputs"] = tensors_json("inputs", lock.inputs, arrays);
  out["outputs"] = tensors_json("outputs", lock.outputs, arrays);
  out["lowered"] = hash_text(lock.lowered);
  out["parts"] = hashes_json(lock.parts);
  out["values"] = hashes_json(lock.values);
  return json_text(out, 1) + "\n";
}

Result<Lock> parse_lock(std::string_view text, const std::function<Result<NamedTensors>()>& open) {
  const nlohmann::json json = OCTET_TRY(parse_json(text));
  const auto form = json.is_object() ? json.find("octet_lock") : json.end();
  if (form == json.end() || !form->is_number_integer())
    return error("no lock of octet lock: there is no \"octet_lock\"");
  if (*form != kLockForm)
    return error("a lock of form {}; this version knows form {}", json_text(*form, -1), kLockForm);
  Lock lock;
  lock.octet = OCTET_TRY(text_at(json, "octet"));
  lock.isa = OCTET_TRY(text_at(json, "isa"));
  lock.model = OCTET_TRY(text_at(json, "model"));
  lock.accuracy = OCTET_TRY_WITH(read_accuracy(json), "\"accuracy\"");
  lock.lowered = OCTET_TRY(hash_at(json, "lowered"));
  lock.parts = OCTET_TRY(read_hashes(json, "parts"));
  lock.values = OCTET_TRY(read_hashes(json, "values"));
  const NamedTensors arrays = OCTET_TRY(open());
  lock.inputs = OCTET_TRY(read_tensors(json, "inputs", arrays));
  lock.outputs = OCTET_TRY(read_tensors(json, "outputs", arrays));
  return lock;
}

Status save_lock(const Lock& lock, const std::string& path, bool overwrite) {
  NamedTensors arrays;
  const std::string text = lock_text(lock, arrays);
  const Overwrite existing = overwrite ? Overwrite::kYes : Overwrite::kNo;
  OCTET_TRY(write_npz(lock_arrays_path(path), arrays, existing));
  return write_file(path, text, existing);
}

Result<Lock> load_lock(const std::string& path) {
  const std::string text = OCTET_TRY(read_file(path, kMaxLockBytes));
  return parse_lock(text, [&] { return read_npz(lock_arrays_path(path)); }).with(path);
}

} // namespace octet
