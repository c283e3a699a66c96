// SPDX-License-Identifier: Apache-2.0
// What a parallel loop does with exceptions: no thread but the one that started the loop knows what
// to do with them, so they are carried there.
#pragma once

#include <atomic>
#include <exception>
#include <utility>

namespace octet {

/// The first exception that the chunks of a loop threw, in whichever thread.
class FirstError {
 public:
  /// In a catch clause, from any thread.
  void keep() noexcept {
    if (!any_.exchange(true)) error_ = std::current_exception();
  }
  /// What was kept, null if nothing was, and forgets it. Called when no chunk runs any more.
  std::exception_ptr release() noexcept {
    if (!any_.load(std::memory_order_relaxed)) return nullptr;
    any_.store(false, std::memory_order_relaxed);
    return std::exchange(error_, nullptr);
  }
  /// Throws what was kept, if anything was.
  void rethrow() {
    if (const std::exception_ptr error = release()) std::rethrow_exception(error);
  }

 private:
  std::atomic<bool> any_{false};
  std::exception_ptr error_;
};

} // namespace octet
