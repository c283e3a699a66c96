// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/first_error.h"
#include "core/fp_env.h"
#include "runtime/kernels/buffer.h"

namespace octet::runtime {
namespace {

/// A thread without the memory now asks for it again when it works, and fails then if it must.
void grow_scratch() {
  try {
    kernels::grow_chunk_scratch();
  } catch (const std::bad_alloc&) {
  }
}

class PoolWorkers final : public Workers {
 public:
  explicit PoolWorkers(int threads) : pool_(threads) {}
  ParallelFor& loop() override { return pool_; }
  void settle() override {
    pool_.run_on_each([](int64_t, int64_t) { grow_scratch(); });
  }
  ThreadPool* own_pool() override { return &pool_; }

 private:
  ThreadPool pool_;
};

class CallerFor final : public ParallelFor {
 public:
  explicit CallerFor(ParallelForFn fn) : fn_(std::move(fn)) {}

  void run(int64_t n, int64_t grain, RangeFn fn) override {
    grain = std::max<int64_t>(grain, 1);
    if (n <= grain) {
      if (n > 0) fn(0, n);
      return;
    }
    Loop loop{n, grain, fn, {}};
    // One captured pointer: std::function keeps it without allocating.
    fn_((n + grain - 1) / grain, [&loop](int64_t i) { loop.chunk(i); });
    loop.error.rethrow();
  }
  int threads() const override { return 1; }

 private:
  struct Loop {
    int64_t n, grain;
    RangeFn fn;
    FirstError error;

    void chunk(int64_t i) noexcept {
      const FpEnvGuard fp_env;
      try {
        fn(i * grain, std::min((i + 1) * grain, n));
      } catch (...) {
        error.keep(); // the caller's threads are promised chunks that do not throw
      }
    }
  };
  ParallelForFn fn_;
};

class CallerWorkers final : public Workers {
 public:
  explicit CallerWorkers(ParallelForFn fn) : loop_(std::move(fn)) {}
  ParallelFor& loop() override { return loop_; }
  void settle() override { grow_scratch(); }

 private:
  CallerFor loop_;
};

} // namespace

std::unique_ptr<Workers> make_workers(const SessionOptions& options) {
  if (options.parallel_for) return std::make_unique<CallerWorkers>(options.parallel_for);
  return std::make_unique<PoolWorkers>(options.threads);
}

} // namespace octet::runtime
