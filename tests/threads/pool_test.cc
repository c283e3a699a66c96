// SPDX-License-Identifier: Apache-2.0
// The pool covers every index exactly once, cuts by shape, nests, carries exceptions to where a
// loop began, does with the threads that it gets, and sets the floating-point mode.
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/fp_env.h"
#include "core/threads.h"
#include "threads/no_new_threads.h"
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octet {
namespace {

using Chunks = std::set<std::pair<int64_t, int64_t>>;

Chunks chunks_of(ParallelFor& loop, int64_t n, int64_t grain) {
  Chunks seen;
  std::mutex mutex;
  loop.run(n, grain, [&](int64_t begin, int64_t end) {
    const std::scoped_lock lock(mutex);
    EXPECT_TRUE(seen.emplace(begin, end).second);
  });
  return seen;
}

TEST(Threads, ChunksDependOnShapeAlone) {
  SerialFor serial;
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t n : {-1, 0, 1, 2, 7, 64, 65, 1000}) {
      for (const int64_t grain : {0, 1, 7, 64, 2000}) {
        EXPECT_EQ(chunks_of(pool, n, grain), chunks_of(serial, n, grain)) << n << " " << grain;
      }
    }
  }
}

TEST(Threads, RunsOnceOnEachThread) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 20; ++round) {
      std::set<std::thread::id> seen;
      std::set<int64_t> numbers;
      std::mutex mutex;
      pool.run_on_each([&](int64_t begin, int64_t end) {
        const std::scoped_lock lock(mutex);
        EXPECT_EQ(end, begin + 1);
        seen.insert(std::this_thread::get_id());
        numbers.insert(begin);
      });
      EXPECT_EQ(seen.size(), static_cast<size_t>(threads));
      EXPECT_EQ(numbers.size(), static_cast<size_t>(threads));
      EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
    }
  }
}

TEST(Threads, EveryIndexOnceUnderManyShortLoops) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> hits(97);
  for (int loop = 0; loop < 2000; ++loop) {
    pool.run(97, 3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        hits[static_cast<size_t>(i)].fetch_add(1);
      }
    });
  }
  for (const std::atomic<int>& hit : hits) {
    EXPECT_EQ(hit.load(), 2000);
  }
}

TEST(Threads, NestedAndConcurrentLoopsFinish) {
  ThreadPool pool(3);
  std::atomic<int64_t> total{0};
  const auto nested = [&] {
    for (int loop = 0; loop < 100; ++loop) {
      pool.run(8, 1, [&](int64_t, int64_t) {
        pool.run(16, 2, [&](int64_t begin, int64_t end) { total.fetch_add(end - begin); });
      });
    }
  };
  std::thread other(nested);
  nested();
  other.join();
  EXPECT_EQ(total.load(), 2 * 100 * 8 * 16);
}

TEST(Threads, SleepingWorkersWakeUp) {
  ThreadPool pool(2);
  for (int loop = 0; loop < 5; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(chunks_of(pool, 10, 1).size(), 10U);
  }
}

TEST(Threads, GrainIsAboutFiveMicroseconds) {
  EXPECT_EQ(grain_for(1000.0), 5);
  EXPECT_EQ(grain_for(1e9), 1);
  EXPECT_GE(grain_for(0.0), 1);
  EXPECT_GE(grain_for(std::numeric_limits<double>::quiet_NaN()), 1);
}

TEST(Threads, AnExceptionOfAnyThreadIsThrownWhereTheLoopBegan) {
  const std::thread::id self = std::this_thread::get_id();
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      const bool on_worker = round % 2 == 1 && threads > 1;
      std::atomic<int64_t> thrown{0};
      // All stay until one has thrown, so that a worker takes part.
      const auto chunk = [&](int64_t, int64_t) {
        if ((std::this_thread::get_id() == self) == on_worker) {
          while (thrown.load() == 0)
            std::this_thread::yield();
          return;
        }
        thrown.fetch_add(1);
        throw std::bad_alloc();
      };
      EXPECT_THROW(pool.run(1000, 1, chunk), std::bad_alloc);
      EXPECT_GE(thrown.load(), 1);
      EXPECT_LE(thrown.load(), threads);
      EXPECT_EQ(chunks_of(pool, 65, 7).size(), 10U) << "the pool works on";
    }
  }
}

TEST(Threads, AnExceptionOfOneOfAllThreadsIsThrown) {
  ThreadPool pool(3);
  for (int64_t bad = 0; bad < 3; ++bad) {
    std::atomic<int> calls{0};
    const auto each = [&](int64_t begin, int64_t) {
      calls.fetch_add(1);
      if (begin == bad) throw std::bad_alloc();
    };
    EXPECT_THROW(pool.run_on_each(each), std::bad_alloc);
    EXPECT_EQ(calls.load(), 3);
  }
  EXPECT_EQ(chunks_of(pool, 65, 7).size(), 10U);
}

TEST(Threads, AnExceptionInALoopWithinALoopIsThrown) {
  ThreadPool pool(3);
  const auto inner = [&](int64_t, int64_t) { throw std::bad_alloc(); };
  EXPECT_THROW(pool.run(16, 1, [&](int64_t, int64_t) { pool.run(16, 1, inner); }), std::bad_alloc);
  EXPECT_EQ(chunks_of(pool, 65, 7).size(), 10U);
}

TEST(Threads, DoesWithTheThreadsThatItGets) {
  const test::NoNewThreads none;
  ThreadPool pool(4);
  EXPECT_EQ(pool.threads(), 1);
  EXPECT_EQ(chunks_of(pool, 65, 7).size(), 10U);
}

TEST(Threads, StartsNoMoreThanTheMost) {
  const test::NoNewThreads none; // nor that many here
  for (const int threads : {kMaxThreads, kMaxThreads + 1, std::numeric_limits<int>::max()})
    EXPECT_EQ(ThreadPool(threads).threads(), 1);
  EXPECT_TRUE(check_threads(0).ok());
  EXPECT_TRUE(check_threads(kMaxThreads).ok());
  EXPECT_FALSE(check_threads(-1).ok());
  EXPECT_FALSE(check_threads(kMaxThreads + 1).ok());
}

#if defined(__x86_64__)
TEST(FpEnv, GuardSetsAndRestores) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1F80 | 0x8040 | 0x2000); // flush to zero, denormals are zero, round down
  EXPECT_FALSE(fp_env_is_default());
  const unsigned odd = _mm_getcsr();
  {
    const FpEnvGuard guard;
    EXPECT_TRUE(fp_env_is_default());
    volatile float tiny = std::numeric_limits<float>::denorm_min();
    EXPECT_GT(tiny + tiny, tiny);
  }
  EXPECT_EQ(_mm_getcsr(), odd);
  _mm_setcsr(before);
}

TEST(FpEnv, WorkersRunInTheDefaultMode) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1F80 | 0x8040);
  ThreadPool pool(3);
  const std::thread::id self = std::this_thread::get_id();
  std::atomic<int> wrong{0};
  for (int loop = 0; loop < 50; ++loop) {
    pool.run(64, 1, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() != self && !fp_env_is_default()) wrong.fetch_add(1);
    });
  }
  _mm_setcsr(before);
  EXPECT_EQ(wrong.load(), 0);
}
#endif

} // namespace
} // namespace octet
