// SPDX-License-Identifier: Apache-2.0
// Graph to ModelProto, as bytes or as files. Source: onnx.proto, ModelProto.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/pages.h"
#include "graph/serialized.h"
#include "graph/sizes.h"
#include "graph/verify.h"
#include "onnx/schema.h"
#include "onnx/write_graph.h"

#include "octet/onnx.h"

namespace octet {
namespace {

using onnx::Encoder;
using onnx::ExternalPlan;

/// Protobuf refuses messages of 2 GiB and more.
constexpr uint64_t kMaxModelBytes = INT32_MAX;

/// Before IR version 4 every initializer had to be a graph input.
int64_t ir_version(const Graph& graph) {
  if (graph.info.ir_version >= 4) return graph.info.ir_version;
  for (const ValueId id : graph.constants())
    if (serialized(graph.value(id)).input_position < 0) return 4;
  return graph.info.ir_version;
}

Result<Encoder> encode_model(const Graph& graph, ExternalPlan* external) {
  namespace model = onnx::model;
  const ModelInfo& info = graph.info;
  OCTET_TRY(verify(graph));
  Encoder out;
  out.integer(model::kIrVersion, ir_version(graph));
  out.text(model::kProducerName, info.producer_name);
  out.text(model::kProducerVersion, info.producer_version);
  out.text(model::kDomain, info.domain);
  if (info.model_version != 0) out.integer(model::kModelVersion, info.model_version);
  out.text(model::kDocString, info.doc);
  out.message(model::kGraph, OCTET_TRY_WITH(onnx::encode_graph(graph, external), "graph"));
  for (const auto& [domain, version] : graph.opsets) {
    Encoder opset;
    opset.bytes(onnx::opset_id::kDomain, domain);
    opset.integer(onnx::opset_id::kVersion, version);
    out.message(model::kOpsetImport, opset);
  }
  for (const auto& [key, value] : info.metadata)
    out.message(model::kMetadataProps, onnx::encode_entry(key, value));
  for (const LocalFunction& f : info.functions)
    out.bytes(model::kFunctions, f.bytes);
  out.raw(serialized(info).fields);
  return out;
}

Status check_size(const Encoder& model) {
  if (model.size() <= kMaxModelBytes) return ok_status();
  return error(
      "the model takes {} bytes, protobuf holds less than 2 GiB; save it with external data",
      model.size());
}

/// In pieces, so that a tensor of gigabytes never is in memory as a whole.
Status write_bytes(const Tensor& tensor, AtomicFile& file) {
  constexpr size_t kPiece = size_t{64} << 20;
  const std::span<const std::byte> bytes = tensor.bytes();
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    const auto piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
    OCTET_TRY(file.write(piece));
    tensor.page_out(piece);
  }
  return ok_status();
}

Status write_external(const ExternalPlan& plan, AtomicFile& file) {
  static constexpr char kZeros[4096] = {};
  int64_t at = 0;
  for (const ExternalPlan::Placed& placed : plan.placed()) {
    OCTET_TRY(file.write(std::string_view(kZeros, static_cast<size_t>(placed.offset - at))));
    OCTET_TRY(write_bytes(placed.tensor, file));
    at = placed.offset + static_cast<int64_t>(placed.tensor.bytes().size());
  }
  return ok_status();
}

Status write_model(const Encoder& model, const std::string& path, Overwrite overwrite) {
  AtomicFile file = OCTET_TRY(AtomicFile::create(path, overwrite));
  OCTET_TRY(model.pieces([&](std::string_view piece) { return file.write(piece); }));
  return file.commit();
}

/// Names that the external data of a model may have: the second and later ones are taken while an
/// older model still needs the first.
std::string data_name(const std::string& model_name, int attempt) {
  const std::string first = model_name + ".data";
  return attempt == 0 ? first : first + "-" + std::to_string(attempt + 1);
}
constexpr int kDataNames = 16;

/// A name that no file has, so that the model which is there keeps its data until the new one is in
/// its place.
std::string free_data_name(const std::filesystem::path& model) {
  const std::string name = model.filename().string();
  for (int attempt = 0; attempt < kDataNames; ++attempt)
    if (std::string free = data_name(name, attempt);
        !std::filesystem::exists(model.parent_path() / free))
      return free;
  return data_name(name, 0);
}

/// Whether another model in the folder names this file of data, or cannot be read.
bool another_names(const std::filesystem::path& model, const std::string& data) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path folder = model.has_parent_path() ? model.parent_path() : fs::path(".");
  for (fs::directory_iterator file(folder, failed), end; !failed && file != end;
       file.increment(failed)) {
    const fs::path other = file->path().filename();
    const bool is_model = other.extension() == ".onnx" || other.extension() == ".pb";
    if (!is_model || other == model.filename()) continue;
    const auto bytes = Buffer::map(file->path().string());
    if (!bytes.ok()) return true;
    const std::span<const std::byte> mapped = (*bytes)->bytes();
    const std::string_view text(reinterpret_cast<const char*>(mapped.data()), mapped.size());
    if (text.find(data) != std::string_view::npos) return true;
  }
  return static_cast<bool>(failed);
}

/// Removes the data of models that the new one replaced, but for what a model beside it reads too:
/// a copy of the model without a copy of its data.
void remove_old_data(const std::filesystem::path& model, const std::string& location) {
  for (int attempt = 0; attempt < kDataNames; ++attempt) {
    const std::string name = data_name(model.filename().string(), attempt);
    const std::filesystem::path old = model.parent_path() / name;
    std::error_code ignored; // it is out of use, and the model is saved
    if (name == location || !std::filesystem::exists(old, ignored)) continue;
    if (!another_names(model, name)) std::filesystem::remove(old, ignored);
  }
}

Status save(const Graph& graph, const std::string& path, const SaveOptions& options) {
  const Overwrite overwrite = options.overwrite ? Overwrite::kYes : Overwrite::kNo;
  using External = SaveOptions::External;
  const bool uses_external = options.external == External::kAlways ||
                             (options.external == External::kAuto &&
                              constant_bytes(graph) > options.external_threshold_bytes);
  if (!uses_external) {
    const Encoder model = OCTET_TRY(encode_model(graph, nullptr));
    OCTET_TRY(check_size(model));
    return write_model(model, path, overwrite);
  }
  const std::filesystem::path target(path);
  const bool own_name = options.external_name.empty();
  const std::string location = !own_name           ? options.external_name
                               : options.overwrite ? free_data_name(target)
                                                   : data_name(target.filename().string(), 0);
  if (std::filesystem::path(location).filename() != location)
    return error("external data \"{}\": give a file name without a folder", location);
  if (location == target.filename().string())
    return error("external data \"{}\": is the model's own name", location);
  ExternalPlan plan(location, options.external_minimum_bytes);
  const Encoder model = OCTET_TRY(encode_model(graph, &plan));
  OCTET_TRY(check_size(model));
  // Both are written before either gets its name, so that what can fail has failed by then.
  AtomicFile data =
      OCTET_TRY(AtomicFile::create((target.parent_path() / location).string(), overwrite));
  AtomicFile file = OCTET_TRY(AtomicFile::create(path, overwrite));
  OCTET_TRY(write_external(plan, data));
  OCTET_TRY(model.pieces([&](std::string_view piece) { return file.write(piece); }));
  OCTET_TRY(data.commit());
  OCTET_TRY(file.commit());
  if (own_name && options.overwrite) remove_old_data(target, location);
  return ok_status();
}

} // namespace

Result<std::string> serialize_onnx(const Graph& graph) {
  const Encoder model = OCTET_TRY(encode_model(graph, nullptr));
  OCTET_TRY(check_size(model));
  return model.str();
}

Status save_onnx(const Graph& graph, const std::string& path, const SaveOptions& options) {
  return save(graph, path, options).with("save " + path);
}

std::string serialize_tensor_proto(const NamedTensor& tensor) {
  return onnx::encode_tensor(tensor.tensor, tensor.name, {}, nullptr).str();
}

Status
write_tensor_proto(const NamedTensor& tensor, const std::string& path, const SaveOptions& options) {
  const Overwrite overwrite = options.overwrite ? Overwrite::kYes : Overwrite::kNo;
  return write_model(onnx::encode_tensor(tensor.tensor, tensor.name, {}, nullptr), path, overwrite);
}

} // namespace octet
