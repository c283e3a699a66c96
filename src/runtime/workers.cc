// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers.h"

#include <algorithm>
#include <utility>

#include "core/fp_env.h"
#include "runtime/kernels/buffer.h"

namespace octet::runtime {
namespace {

class PoolWorkers final : public Workers {
 public:
  explicit PoolWorkers(int threads) : pool_(threads) {}
  ParallelFor& loop() override { return pool_; }
  void settle() override {
    pool_.run_on_each([](int64_t, int64_t) { kernels::grow_thread_scratch(); });
  }
  void begin_run() override { pool_.begin_run(); }
  void end_run() override { pool_.end_run(); }

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
    const Loop loop{n, grain, fn};
    // One captured pointer: std::function keeps it without allocating.
    fn_((n + grain - 1) / grain, [&loop](int64_t i) { loop.chunk(i); });
  }
  int threads() const override { return 1; }

 private:
  struct Loop {
    int64_t n, grain;
    RangeFn fn;

    void chunk(int64_t i) const {
      const FpEnvGuard fp_env;
      fn(i * grain, std::min((i + 1) * grain, n));
    }
  };
  ParallelForFn fn_;
};

class CallerWorkers final : public Workers {
 public:
  explicit CallerWorkers(ParallelForFn fn) : loop_(std::move(fn)) {}
  ParallelFor& loop() override { return loop_; }
  void settle() override { kernels::grow_thread_scratch(); }

 private:
  CallerFor loop_;
};

} // namespace

std::unique_ptr<Workers> make_workers(const SessionOptions& options) {
  if (options.parallel_for) return std::make_unique<CallerWorkers>(options.parallel_for);
  return std::make_unique<PoolWorkers>(options.threads);
}

} // namespace octet::runtime
