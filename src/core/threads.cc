// SPDX-License-Identifier: Apache-2.0
// The pool. A loop is published by raising `epoch`; whoever enters takes chunk numbers from `next`.
// The caller closes the loop when no chunk is left and waits for the workers that are inside.
#include "core/threads.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <iterator>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/first_error.h"
#include "core/format.h"
#include "core/fp_env.h"

namespace octet {
namespace {

// About 50 to 100 microseconds of pauses before a worker sleeps.
constexpr int kSpins = 4000;
// Whoever spins longer than this lets other threads have the core now and then.
constexpr int kSpinsToYield = 1000;
constexpr double kChunkNs = 5000.0;
// Waking a worker takes as long as several chunks.
constexpr int64_t kChunksToWake = 6;

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

void run_serial(int64_t n, int64_t grain, const RangeFn& fn) {
  for (int64_t begin = 0; begin < n; begin += grain) {
    fn(begin, std::min(begin + grain, n));
  }
}

} // namespace

struct ThreadPool::State {
  // What the current loop is. Written by its owner while `inside` is 0 and `open` is false.
  const RangeFn* fn = nullptr;
  int64_t n = 0;
  int64_t grain = 1;
  int64_t chunks = 0;

  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<uint32_t> epoch{0};
  std::atomic<bool> stop{false};
  alignas(64) std::atomic<bool> open{false};
  std::atomic<int> inside{0};
  alignas(64) std::atomic<bool> taken{false};
  std::atomic<int> runs{0};
  std::atomic<int> asleep{0};
  FirstError error;
  std::vector<std::thread> workers;

  void take_chunks() noexcept {
    try {
      for (int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < chunks;
           i = next.fetch_add(1, std::memory_order_relaxed)) {
        const int64_t begin = i * grain;
        (*fn)(begin, std::min(begin + grain, n));
      }
    } catch (...) {
      error.keep();
      next.store(chunks, std::memory_order_relaxed);
    }
  }

  /// Runs a loop; the caller has set `taken`, which is cleared at the end.
  void run_taken(int64_t count, int64_t size, const RangeFn& body) {
    fn = &body;
    n = count;
    grain = size;
    chunks = count / size + (count % size == 0 ? 0 : 1);
    next.store(0);
    open.store(true);
    wake();
    take_chunks();
    open.store(false);
    for (int spin = 1; inside.load() != 0; ++spin) {
      pause_briefly();
      if (spin % kSpinsToYield == 0) std::this_thread::yield();
    }
    const std::exception_ptr thrown = error.release();
    taken.store(false);
    if (thrown) std::rethrow_exception(thrown);
  }

  // The increment of `inside` comes before the test of `open`, and the owner clears `open` before
  // it tests `inside` (all sequentially consistent): either the worker sees the loop closed, or the
  // owner sees the worker.
  void help() {
    inside.fetch_add(1);
    if (open.load()) take_chunks();
    inside.fetch_sub(1);
  }

  // The count of sleepers is raised before the last look at `epoch`, which the owner raises before
  // it looks at the count: nobody sleeps through a loop.
  void sleep(uint32_t seen) {
    asleep.fetch_add(1);
    epoch.wait(seen);
    asleep.fetch_sub(1);
  }

  void wake() {
    epoch.fetch_add(1);
    if (asleep.load() != 0) epoch.notify_all();
  }

  /// The next epoch after `seen`.
  uint32_t next_epoch(uint32_t seen) {
    for (int spin = 0;; ++spin) {
      const uint32_t now = epoch.load(std::memory_order_acquire);
      if (now != seen) return now;
      pause_briefly();
      if (spin < kSpins) continue;
      if (runs.load(std::memory_order_relaxed) == 0) {
        sleep(seen);
        spin = 0;
      } else if (spin % kSpinsToYield == 0) {
        std::this_thread::yield();
        spin = kSpins;
      }
    }
  }

  void work() {
    const FpEnvGuard fp_env;
    uint32_t seen = 0;
    while (true) {
      seen = next_epoch(seen);
      if (stop.load()) return;
      help();
    }
  }
};

void SerialFor::run(int64_t n, int64_t grain, RangeFn fn) {
  run_serial(n, std::max<int64_t>(grain, 1), fn);
}

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  const int count = std::min(threads > 0 ? threads : available_cores(), kMaxThreads);
  std::vector<std::thread>& workers = state_->workers;
  workers.reserve(static_cast<size_t>(count - 1));
  try {
    while (std::ssize(workers) < count - 1) {
      workers.emplace_back([state = state_.get()] { state->work(); });
    }
  } catch (const std::exception&) {
    // No more threads for this process, or no memory for one: those that run do all the work.
  }
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true);
  state_->wake();
  for (std::thread& worker : state_->workers) {
    worker.join();
  }
}

int ThreadPool::threads() const {
  return static_cast<int>(state_->workers.size()) + 1;
}

void ThreadPool::run(int64_t n, int64_t grain, RangeFn fn) {
  grain = std::max<int64_t>(grain, 1);
  State& s = *state_;
  const auto workers = static_cast<int>(s.workers.size());
  if (n <= grain || workers == 0) return run_serial(n, grain, fn);
  const int64_t chunks = n / grain + (n % grain == 0 ? 0 : 1);
  const bool leave_asleep = chunks < kChunksToWake && s.asleep.load() == workers;
  if (leave_asleep || s.taken.exchange(true)) return run_serial(n, grain, fn);
  s.run_taken(n, grain, fn);
}

void ThreadPool::run_on_each(RangeFn fn) {
  State& s = *state_;
  while (s.taken.exchange(true)) {
    std::this_thread::yield();
  }
  // Nobody who took a chunk goes on to a second one before all are taken.
  const int64_t all = threads();
  std::atomic<int64_t> arrived{0};
  FirstError error;
  s.run_taken(all, 1, [&](int64_t begin, int64_t end) {
    try {
      fn(begin, end);
    } catch (...) {
      error.keep();
    }
    arrived.fetch_add(1);
    while (arrived.load() < all) {
      std::this_thread::yield();
    }
  });
  error.rethrow();
}

ThreadPool::KeepAwake::KeepAwake(ThreadPool* pool) : pool_(pool) {
  if (pool_ != nullptr) pool_->state_->runs.fetch_add(1, std::memory_order_relaxed);
}

ThreadPool::KeepAwake::~KeepAwake() {
  if (pool_ != nullptr) pool_->state_->runs.fetch_sub(1, std::memory_order_relaxed);
}

Status check_threads(int threads) {
  if (threads < 0)
    return error("threads: {} is no number of threads; use 0 for one on each core", threads);
  if (threads > kMaxThreads)
    return error("threads: {} is more than {}; use 0 for one on each core", threads, kMaxThreads);
  return ok_status();
}

int available_cores() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int64_t grain_for(double ns_per_item) {
  if (!(ns_per_item > 0.0)) return 1;
  return std::max<int64_t>(1, std::llround(std::min(kChunkNs / ns_per_item, 1e9)));
}

} // namespace octet
