// SPDX-License-Identifier: Apache-2.0
#include "cli/model_images.h"

#include <filesystem>

#include "core/atomic_file.h"
#include "core/format.h"
#include <fmt/format.h>

#include "octet/model_folder.h"

namespace octet::cli {
namespace {

constexpr const char* kPreprocessor = "preprocessor_config.json";
constexpr size_t kMaxPreprocessorBytes = size_t{1} << 20;

Result<std::optional<ImagePreparation>> beside(const std::string& model) {
  const Result<std::string> folder = companion_folder(model);
  if (!folder.ok()) return std::optional<ImagePreparation>();
  const std::string path = (std::filesystem::path(*folder) / kPreprocessor).string();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::optional<ImagePreparation>();
  const std::string text = OCTET_TRY(read_file(path, kMaxPreprocessorBytes));
  return std::optional(OCTET_TRY_WITH(parse_preprocessor_config(text), path));
}

/// Size and channels that the input fixes.
Result<ImagePreparation> of_input(const Graph& graph, const std::string& model) {
  const TypeInfo* type = graph.inputs().empty() ? nullptr : &graph.value(graph.inputs()[0]).type;
  if (type == nullptr || !type->has_rank() || type->rank() != 4)
    return error("{}: takes no images: its first input is {}, not [N, channels, height, width]",
                 model, type == nullptr ? "missing" : type->text());
  const auto side = [&](size_t axis) { return (*type->shape)[axis].maybe_value().value_or(0); };
  ImagePreparation out;
  out.channels = side(1);
  out.height = side(2);
  out.width = side(3);
  if (out.channels != 0 && out.channels != 1 && out.channels != 3)
    return error("{}: takes {} of {} channels; images have 1 (grey) or 3 (RGB), channels first",
                 model, type->text(), out.channels);
  if (out.width == 0 || out.height == 0) out.width = out.height = 0;
  out.mean = {0.0};
  out.std = {1.0};
  return out;
}

} // namespace

Result<ImagePreparation>
model_images(const Graph& graph, const std::string& model, const std::string& options) {
  std::optional<ImagePreparation> known = OCTET_TRY_WITH(image_preparation(graph), model);
  if (!known) known = OCTET_TRY(beside(model));
  if (known) return with_image_options(*known, options);
  const ImagePreparation plain = OCTET_TRY(of_input(graph, model));
  ImagePreparation out = OCTET_TRY(with_image_options(plain, options));
  if (out.mean == plain.mean && out.std == plain.std)
    fmt::print(stderr,
               "{}: does not say how its images were prepared; pixel / 255 is taken (mean=A,B,C "
               "and std=A,B,C change it)\n",
               model);
  return out;
}

Status keep_image_preparation(Graph& graph, const std::string& model, const std::string& data) {
  if (!is_image_spec(data)) return ok_status();
  set_image_preparation(graph,
                        OCTET_TRY(model_images(graph, model, OCTET_TRY(image_options_of(data)))));
  return ok_status();
}

Result<std::shared_ptr<const Dataset>> open_model_images(const std::string& spec,
                                                         Split split,
                                                         const Graph& graph,
                                                         const std::string& model) {
  return open_images(spec, split,
                     OCTET_TRY(model_images(graph, model, OCTET_TRY(image_options_of(spec)))));
}

} // namespace octet::cli
