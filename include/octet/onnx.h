// SPDX-License-Identifier: Apache-2.0
// ONNX files in and out. Reading copies no weights: constants are views of the mapped file (or of
// the external data files beside it). Source: onnx.proto, IR versions 3 to 14.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "octet/graph.h"

namespace octet {

struct LoadOptions {
  /// Where external data lies; empty: the folder of the file. Locations that leave it (absolute
  /// paths, "..", links that lead outside) are refused.
  std::string external_folder = {};
};

/// Reads a model. Errors name the file, the path inside the model and, for broken encoding, the
/// byte: `model.onnx: graph.node[3] Conv "c1": attribute "pads": byte 812: a length of 900 passes
/// the end of the message`. Operators, domains and versions that octet does not know are kept.
Result<Graph> load_onnx(const std::string& path, const LoadOptions& options = {});

/// The same for a model in memory. `folder` is where external data lies; empty: external data is
/// refused. The graph holds on to the buffer.
Result<Graph> parse_onnx(std::shared_ptr<const Buffer> buffer, const std::string& folder = {});

struct SaveOptions {
  enum class External {
    kAuto,   ///< when the constants take more than `external_threshold_bytes`
    kAlways, ///< every constant of at least `external_minimum_bytes`
    kNever,  ///< an error when the file would pass 2 GiB, protobuf's limit
  };
  bool overwrite = false; ///< otherwise an existing file is an error
  External external = External::kAuto;
  int64_t external_threshold_bytes = int64_t{3} << 29;
  int64_t external_minimum_bytes = 1024;
  /// File name beside the model; empty: the model's name + ".data", or + ".data-2" and so on while
  /// the model that is overwritten uses that (the old data goes when the new model is in place and
  /// no other model there names it).
  std::string external_name = {};
};

/// Writes a model: a temporary file, fsync, rename, so that a kill at any moment leaves the old
/// file or the new one. External data goes first, in the same way. Nodes are written producers
/// first.
Status save_onnx(const Graph& graph, const std::string& path, const SaveOptions& options = {});

/// The model as bytes, weights included. An error when it would pass 2 GiB.
Result<std::string> serialize_onnx(const Graph& graph);

/// A TensorProto, as in the .pb files of test data.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};
Result<NamedTensor> read_tensor_proto(const std::string& path);
Result<NamedTensor> parse_tensor_proto(std::shared_ptr<const Buffer> buffer);
/// Written as atomically as a model; of the options only `overwrite` counts.
Status write_tensor_proto(const NamedTensor& tensor,
                          const std::string& path,
                          const SaveOptions& options = {});
std::string serialize_tensor_proto(const NamedTensor& tensor);

} // namespace octet
