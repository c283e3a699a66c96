// SPDX-License-Identifier: Apache-2.0
// What long work tells its caller, and how the caller stops it. The library itself never prints.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

#include "octet/result.h"

namespace octet {

struct Progress {
  std::string_view stage; ///< "train", "calibrate", "download train-images-idx3-ubyte.gz"
  int64_t done = 0;
  int64_t total = 0;     ///< 0: not known
  std::string_view unit; ///< "images", "bytes"
  std::string_view note; ///< "loss 0.412"; may be empty
};
using ProgressCallback = std::function<void(const Progress&)>;

enum class LogLevel { kInfo, kWarning };
using LogCallback = std::function<void(LogLevel, std::string_view)>;

/// A flag that a signal handler or another thread may raise.
class CancelToken {
 public:
  void cancel() noexcept { raised_.store(true, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return raised_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> raised_ = false;
  static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers may only touch those");
};

/// The three together; every member may be left empty.
struct Callbacks {
  ProgressCallback progress;
  LogCallback log;
  const CancelToken* cancel = nullptr;

  void report(const Progress& state) const {
    if (progress) progress(state);
  }
  void say(LogLevel level, std::string_view message) const {
    if (log) log(level, message);
  }
  bool cancelled() const { return cancel != nullptr && cancel->cancelled(); }
  /// The error kCancelled once the flag is raised.
  Status check_cancelled() const {
    if (!cancelled()) return ok_status();
    return Error("stopped by the user", ErrorCode::kCancelled);
  }
};

} // namespace octet
