// SPDX-License-Identifier: Apache-2.0
// Weight stores: MODEL.octetpack beside MODEL.onnx holds what a session makes of the model (the
// lowered graph, packed weights), so that Session::open need not make it again. It is mapped:
// processes that open the same store share its pages. docs/pack.md
#pragma once

#include <cstdint>
#include <string>

#include "octet/result.h"

namespace octet {

struct PackOptions {
  std::string isa = {};   ///< as SessionOptions::isa; a store is of one instruction set
  bool overwrite = false; ///< otherwise an existing file is an error
};

struct PackReport {
  std::string path, isa;
  int64_t bytes = 0; ///< of the file
  int64_t packs = 0; ///< packed weights in it
};

/// `MODEL.octetpack` for `MODEL.onnx` (or any other ending).
std::string pack_path(const std::string& model);

/// Lowers and packs an ONNX file and writes its store: whole or not at all; then reads all of it
/// back. `path` empty: pack_path(model). Errors: as Session::create, and a file that cannot be
/// written.
Result<PackReport>
pack_model(const std::string& model, const std::string& path = {}, const PackOptions& options = {});

/// Checks every byte of a store. Errors say what is wrong, and the way out.
Status verify_pack(const std::string& path);

} // namespace octet
