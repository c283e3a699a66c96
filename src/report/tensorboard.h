// SPDX-License-Identifier: Apache-2.0
// Event files that TensorBoard opens: scalars over steps.
// Format: TFRecord (length, masked CRC-32C of it, data, masked CRC-32C of that) around Event
// messages. Source: tensorflow/core/util/event.proto and lib/io/record_writer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "octet/result.h"

namespace octet {

class TensorBoardWriter {
 public:
  /// Opens a new file `events.out.tfevents.<time>.<host>.<pid>` in `folder`, which is made if it is
  /// missing. Errors: a folder that cannot be written.
  static Result<std::unique_ptr<TensorBoardWriter>> create(const std::string& folder);
  virtual ~TensorBoardWriter() = default;

  /// Adds one point to the curve `tag`. The file holds it when this returns, up to what the system
  /// buffers.
  virtual Status scalar(std::string_view tag, int64_t step, double value) = 0;
  virtual const std::string& path() const = 0;
};

namespace tfrecord {

/// CRC-32C (Castagnoli).
uint32_t crc32c(std::string_view data);
/// A record: what frames `data` in an event file.
std::string frame(std::string_view data);
/// A serialized Event with one scalar.
std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float value);

} // namespace tfrecord

} // namespace octet
