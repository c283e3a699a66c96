// SPDX-License-Identifier: Apache-2.0
// A graph that was built as a BERT to config.json and model.safetensors.
#include <filesystem>

#include "core/format.h"
#include "models/bert_builder.h"
#include "models/bert_config.h"
#include "models/hugging_face_names.h"
#include "models/safetensors.h"

#include "octet/hugging_face.h"

namespace octet {
namespace {
namespace fs = std::filesystem;

/// Builds the same graph again only to be asked for each parameter by name.
Result<std::vector<NamedWeight>> collect(const Graph& graph, const BertOptions& options) {
  std::vector<NamedWeight> out;
  OCTET_TRY(build_bert(options, [&](const BertParameter& p) -> Result<Tensor> {
    const auto value = graph.find_value(p.name);
    const Tensor* found = value ? graph.constant(*value) : nullptr;
    if (found == nullptr)
      return Error("is not in the graph; a quantized model has other constants, export the model "
                   "that it came from");
    if (found->type() != DType::kFloat32 || found->shape() != p.shape)
      return error("is {}, the model has f32{}; export the float model that it came from",
                   tensor_type(found->type(), found->shape()).text(), to_string(p.shape));
    Tensor stored = *found;
    if (p.turned) stored = OCTET_TRY(turned_matrix(stored));
    out.push_back({hugging_face_name(p.name, options.family, options.head), std::move(stored)});
    return *found;
  }));
  return out;
}

} // namespace

Status export_hugging_face(const Graph& graph, const std::string& folder, bool overwrite) {
  const BertOptions options = OCTET_TRY(bert_options(graph));
  const std::vector<NamedWeight> weights = OCTET_TRY(collect(graph, options));
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return error("{}: cannot be made: {}", folder, failed.message());
  const fs::path root(folder);
  const Overwrite mode = overwrite ? Overwrite::kYes : Overwrite::kNo;
  OCTET_TRY(write_safetensors((root / "model.safetensors").string(), weights, mode));
  return write_file((root / "config.json").string(), bert_config_json(options) + "\n", mode);
}

} // namespace octet
