// SPDX-License-Identifier: Apache-2.0
// What runs the parallel loops of a session: its own pool, or the caller's scheduler.
#pragma once

#include <memory>

#include "core/threads.h"

#include "octet/session.h"

namespace octet::runtime {

class Workers {
 public:
  virtual ~Workers() = default;
  virtual ParallelFor& loop() = 0;
  /// Gives each worker, where they are known, as much scratch memory as any thread has needed so
  /// far, so that it need not allocate when it first meets a large chunk.
  virtual void settle() = 0;
  /// The session's own threads, or null.
  virtual ThreadPool* own_pool() { return nullptr; }
};

std::unique_ptr<Workers> make_workers(const SessionOptions& options);

} // namespace octet::runtime
