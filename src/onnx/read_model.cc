// SPDX-License-Identifier: Apache-2.0
// ModelProto to Graph. Source: onnx.proto, ModelProto.
#include "onnx/read_model.h"

#include <algorithm>
#include <filesystem>

#include "core/format.h"
#include "core/string_util.h"
#include "graph/serialized.h"
#include "graph/verify.h"
#include "onnx/read_graph.h"
#include "onnx/read_tensor.h"
#include "onnx/schema.h"

#include "octet/onnx.h"

namespace octet {
namespace onnx {

Status read_opset(Bytes message, const Source& source, std::map<std::string, int64_t>& out) {
  std::string domain;
  int64_t version = 0;
  Reader reader = source.reader(message);
  while (reader.next()) {
    if (reader.field() == opset_id::kDomain) domain = reader.text();
    if (reader.field() == opset_id::kVersion) version = reader.integer();
  }
  OCTET_TRY(reader.finish());
  if (domain == "ai.onnx") domain.clear();
  if (version < 1 || version > INT32_MAX)
    return error("operator set \"{}\": version {} is out of range", domain, version);
  const auto [at, is_new] = out.emplace(domain, version);
  if (!is_new && at->second != version)
    return error("operator set \"{}\" is imported as version {} and {}", domain, at->second,
                 version);
  return ok_status();
}

namespace {

Result<LocalFunction> read_function_header(Bytes message, const Source& source) {
  LocalFunction out;
  Reader reader = source.reader(message);
  while (reader.next()) {
    if (reader.field() == function::kName) out.name = reader.text();
    if (reader.field() == function::kDomain) out.domain = reader.text();
    if (reader.field() == function::kOverload) out.overload = reader.text();
  }
  OCTET_TRY(reader.finish());
  if (out.name.empty()) return error("has no name");
  out.bytes = std::string(message);
  return out;
}

struct ModelFields {
  ModelInfo info;
  std::map<std::string, int64_t> opsets;
  SerializedModel kept;
  Bytes graph;
  bool has_graph = false;
};

Status read_field(Reader& reader, const Source& source, ModelFields& out) {
  ModelInfo& info = out.info;
  switch (reader.field()) {
  case model::kIrVersion:
    info.ir_version = reader.integer();
    break;
  case model::kProducerName:
    info.producer_name = reader.text();
    break;
  case model::kProducerVersion:
    info.producer_version = reader.text();
    break;
  case model::kDomain:
    info.domain = reader.text();
    break;
  case model::kModelVersion:
    info.model_version = reader.integer();
    break;
  case model::kDocString:
    info.doc = reader.text();
    break;
  case model::kGraph:
    if (out.has_graph) return error("has two graphs");
    out.has_graph = true;
    out.graph = reader.bytes();
    break;
  case model::kOpsetImport:
    return read_opset(reader.bytes(), source, out.opsets);
  case model::kMetadataProps:
    info.metadata.push_back(OCTET_TRY(read_entry(reader.bytes(), source)));
    break;
  case model::kFunctions:
    info.functions.push_back(OCTET_TRY_WITH(read_function_header(reader.bytes(), source),
                                            fmt::format("functions[{}]", info.functions.size())));
    break;
  default:
    out.kept.fields.append(reader.raw());
  }
  return ok_status();
}

/// How the text file begins that stands for a large one in a clone without Git LFS. Source:
/// git-lfs, docs/spec.md.
constexpr std::string_view kLfsPointer = "version https://git-lfs.github.com/spec/";

bool is_text(char c) {
  return (c >= ' ' && c != '\x7f') || c == '\n' || c == '\r' || c == '\t';
}

/// The error of a file that does not read as a model, with what it seems to be instead.
Error unreadable(std::string_view file, const Reader& reader, bool began, Error why) {
  constexpr size_t kLooked = 64, kShown = 24;
  constexpr std::string_view kZip = "PK\x03\x04";
  const std::string_view begin = file.substr(0, kLooked);
  if (file.starts_with(kZip))
    return error(
        "is a zip archive (a checkpoint of PyTorch?) and no ONNX model; export it to ONNX");
  if (std::all_of(begin.begin(), begin.end(), is_text))
    return error("is text and no ONNX model; it begins \"{}\"",
                 trim(begin.substr(0, std::min(kShown, begin.find('\n')))));
  if (began && reader.cut_short())
    return std::move(why).with(fmt::format("is cut short at {} bytes or damaged; fetch or export "
                                           "it again",
                                           file.size()));
  return began ? why : std::move(why).with("is no ONNX model");
}

Status read_fields(Reader& reader, const Source& source, ModelFields& fields) {
  while (reader.next())
    OCTET_TRY(read_field(reader, source, fields));
  return reader.finish();
}

Result<Graph> read_model(const Source& source) {
  if (source.all().empty()) return error("is empty; expected an ONNX model");
  if (source.all().starts_with(kLfsPointer))
    return error("is a pointer of Git LFS and not the model; git lfs pull fetches it");
  ModelFields fields;
  fields.info.ir_version = 0;
  fields.info.producer_name.clear();
  Reader reader = source.reader(source.all());
  if (Status read = read_fields(reader, source, fields); !read.ok())
    return unreadable(source.all(), reader, fields.has_graph || fields.info.ir_version > 0,
                      std::move(read).error());
  if (!fields.has_graph) return error("has no graph; is this an ONNX model?");
  // Files of the first IR versions import nothing and mean version 1.
  if (fields.opsets.empty() && fields.info.ir_version < 3) fields.opsets[""] = 1;
  GraphReader graph_reader(source, std::move(fields.opsets));
  Graph graph = OCTET_TRY_WITH(graph_reader.read(fields.graph), "graph");
  std::swap(fields.info.graph_doc, graph.info.graph_doc);
  std::swap(fields.info.graph_metadata, graph.info.graph_metadata);
  fields.kept.graph = serialized(graph.info).graph;
  if (!fields.kept.fields.empty() || !fields.kept.graph.empty())
    fields.info.serialized = std::make_shared<const SerializedModel>(std::move(fields.kept));
  graph.info = std::move(fields.info);
  OCTET_TRY_WITH(verify(graph), "graph");
  return graph;
}

} // namespace
} // namespace onnx

Result<Graph> parse_onnx(std::shared_ptr<const Buffer> buffer, const std::string& folder) {
  onnx::ExternalFiles files(folder);
  return onnx::read_model({std::move(buffer), &files});
}

Result<onnx::LoadedModel> onnx::load_model(const std::string& path, const LoadOptions& options) {
  std::shared_ptr<const Buffer> buffer = OCTET_TRY(Buffer::map(path));
  std::string folder = options.external_folder;
  if (folder.empty()) folder = std::filesystem::path(path).parent_path().string();
  ExternalFiles files(folder.empty() ? "." : folder);
  Graph graph = OCTET_TRY_WITH(read_model({std::move(buffer), &files}), path);
  return LoadedModel{std::move(graph), files.locations()};
}

Result<Graph> load_onnx(const std::string& path, const LoadOptions& options) {
  return OCTET_TRY(onnx::load_model(path, options)).graph;
}

} // namespace octet
