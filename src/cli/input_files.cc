// SPDX-License-Identifier: Apache-2.0
#include "cli/input_files.h"

#include <algorithm>

#include "cli/options.h"
#include "core/format.h"
#include "core/string_util.h"
#include "data/bind.h"
#include "data/npy.h"
#include "data/npz.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace octet::cli {
namespace {

Result<NamedTensors> read_files(const std::vector<std::string>& files, const std::string& archive) {
  NamedTensors out;
  if (!archive.empty()) out = OCTET_TRY(read_npz(archive));
  for (const std::string& item : files) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0)
      return error("--input {}: wants NAME=FILE.npy", item);
    out.emplace_back(item.substr(0, equals), OCTET_TRY(read_npy(item.substr(equals + 1))));
  }
  return out;
}

} // namespace

void add_input_options(CLI::App& app, std::vector<std::string>& files, std::string& archive) {
  add_list_option(app, "--input", files, "NAME=FILE.npy, once for each input");
  app.add_option("--inputs", archive, "npz file with tensors named as the inputs");
}

Result<std::vector<Tensor>>
read_inputs(const Graph& graph, const std::vector<std::string>& files, const std::string& archive) {
  const NamedTensors given = OCTET_TRY(read_files(files, archive));
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs())
    names.push_back(graph.value(id).name);
  for (const auto& [name, tensor] : given)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return error("has no input \"{}\"{}", name, suggestion(name, names));
  std::vector<Tensor> out;
  for (const std::string& name : names) {
    const Tensor* found = nullptr;
    for (const auto& [key, tensor] : given)
      if (key == name) found = &tensor;
    if (found == nullptr)
      return error("input \"{}\" was not given; use --input {}=FILE.npy", name, name);
    const DType wanted = graph.value(*graph.find_value(name)).type.type;
    if (wanted == DType::kUndefined || wanted == found->type()) {
      out.push_back(*found);
      continue;
    }
    out.push_back(OCTET_TRY_WITH(converted(*found, wanted), fmt::format("input \"{}\"", name)));
    fmt::print(stderr, "input \"{}\" is {}, the model takes {}: converted\n", name,
               octet::name(found->type()), octet::name(wanted));
  }
  return out;
}

} // namespace octet::cli
