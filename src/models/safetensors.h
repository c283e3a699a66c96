// SPDX-License-Identifier: Apache-2.0
// Safetensors files: eight bytes with the header's length, a JSON header with type, shape and place
// of each tensor, then the tensors. Source: the format description of huggingface/safetensors.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/atomic_file.h"

#include "octet/tensor.h"

namespace octet {

struct NamedWeight {
  std::string name;
  Tensor tensor;
};

/// Reads a file without copying: the tensors are views of the mapping, in the file's order of
/// bytes. Every length, place, shape and type is checked against the file. Errors name the file,
/// the tensor and what is wrong.
Result<std::vector<NamedWeight>> read_safetensors(const std::string& path);
/// The same for bytes in memory; `name` stands for the file in errors.
Result<std::vector<NamedWeight>> parse_safetensors(const std::shared_ptr<const Buffer>& buffer,
                                                   const std::string& name);

/// Written as a whole or not at all, with `metadata` {"format": "pt"} as other readers expect.
/// Errors: types that the format has no name for.
Status write_safetensors(const std::string& path,
                         const std::vector<NamedWeight>& weights,
                         Overwrite overwrite);

} // namespace octet
