// SPDX-License-Identifier: Apache-2.0
// Parallel loops. One pool of workers; no OpenMP. A loop is cut into chunks by its own size and
// grain, never by the number of threads, so that what a chunk computes does not depend on who runs
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "octet/result.h"

namespace octet {

/// A borrowed callable `void(int64_t begin, int64_t end)`: two pointers, no allocation. It must
/// outlive the call that it is passed to.
class RangeFn {
 public:
  // Implicit, so that call sites pass lambdas.
  template <typename F>
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
  requires(!std::is_same_v<std::remove_cvref_t<F>, RangeFn>) RangeFn(F&& fn)
  noexcept
      : object_(const_cast<void*>(static_cast<const void*>(&fn))),
        call_([](void* object, int64_t begin, int64_t end) {
          (*static_cast<std::remove_reference_t<F>*>(object))(begin, end);
        }) {}

  void operator()(int64_t begin, int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, int64_t, int64_t);
};

/// What runs a parallel loop: octet's pool, the calling thread alone, or the caller's own
/// scheduler.
class ParallelFor {
 public:
  virtual ~ParallelFor() = default;

  /// Calls `fn` once for each chunk [i * grain, min((i + 1) * grain, n)) and returns when all are
  /// done. Chunks run in any order, possibly at the same time. A `grain` below 1 counts as 1; `n`
  /// below 1 calls nothing. Loops shorter than a chunk of grain_for() should pass grain >= n: one
  /// chunk runs inline. The first exception of a chunk is thrown again here, when no chunk runs any
  /// more; chunks that had not begun may be left out.
  virtual void run(int64_t n, int64_t grain, RangeFn fn) = 0;

  /// How many threads may work at the same time, the caller included.
  virtual int threads() const = 0;
};

/// Runs every chunk in order on the calling thread.
class SerialFor final : public ParallelFor {
 public:
  void run(int64_t n, int64_t grain, RangeFn fn) override;
  int threads() const override { return 1; }
};

/// More threads than any machine has cores; a larger number is a slip of the pen.
constexpr int kMaxThreads = 1024;

/// A fixed set of workers. They spin briefly after a loop, then sleep; while they sleep, loops of
/// few chunks do not wake them. A loop started while another one runs (nested, or from a second
/// thread) runs on its calling thread. No allocation per call.
class ThreadPool final : public ParallelFor {
 public:
  /// `threads` counts the caller: 1 starts no worker. 0 means one for each core. There are fewer,
  /// as threads() says, where the system does not start so many, and never more than kMaxThreads.
  explicit ThreadPool(int threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void run(int64_t n, int64_t grain, RangeFn fn) override;
  int threads() const override;
  /// Calls `fn(i, i + 1)` once on each thread, the caller included, each with an i of its own.
  /// Waits for a loop that runs; not to be called from within one.
  void run_on_each(RangeFn fn);

  /// While one lives, workers of the pool that are awake do not fall asleep: between the loops of
  /// one run of a model a wake-up would cost more than most loops take. Several may live at a time.
  class KeepAwake {
   public:
    explicit KeepAwake(ThreadPool* pool); ///< null: there is nobody to keep awake
    ~KeepAwake();
    KeepAwake(const KeepAwake&) = delete;
    KeepAwake& operator=(const KeepAwake&) = delete;

   private:
    ThreadPool* pool_;
  };

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What a number of threads given by a user must keep to: 0 to kMaxThreads.
Status check_threads(int threads);

/// Cores that this process may use (its affinity mask), at least 1.
int available_cores();

/// Items per chunk such that a chunk takes about 5 microseconds, given how many nanoseconds one
/// item takes. Depends on nothing else.
int64_t grain_for(double ns_per_item);

} // namespace octet
