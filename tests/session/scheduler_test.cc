// SPDX-License-Identifier: Apache-2.0
// Schedulers of the caller's that do other work on a thread that waits for its loop, as those that
// steal do: chunks of other loops, and whole runs in other contexts, of the same session and of
// others. What is computed must be what the reference executor says of the lowered graph.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "core/cpu.h"
#include "passes/lower/lower.h"
#include "runtime/workers.h"
#include "session/scheduler_models.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/session.h"

namespace octet {
namespace {

using test::scheduler_models;
using test::SchedulerModel;

/// Inputs of a session with what the reference executor makes of them.
struct Case {
  std::string name;
  Session* session;
  std::vector<Tensor> inputs;
  Tensor want;

  /// In a context of its own, or in one of the session's.
  bool right(bool own_context) const {
    if (!own_context) {
      const auto y = session->run(inputs);
      return y.ok() && (*y)[0].identical(want);
    }
    SessionContext context = session->context();
    const auto y = context.run(inputs);
    return y.ok() && (*y)[0].identical(want);
  }
};

/// Models with what the reference executor makes of each of their feeds.
struct Known {
  SchedulerModel model;
  std::vector<Tensor> wants;
};

const std::vector<Known>& known_models() {
  static const std::vector<Known> all = [] {
    std::vector<Known> out;
    std::vector<SchedulerModel> models = scheduler_models();
    for (SchedulerModel& m : models) {
      const auto reference = make_reference_executor(lower(m.graph).value().graph).value();
      std::vector<Tensor> wants;
      for (const std::vector<Tensor>& inputs : m.feeds)
        wants.push_back(reference->run(inputs).value()[0]);
      out.push_back({std::move(m), std::move(wants)});
    }
    return out;
  }();
  return all;
}

struct Cases {
  std::deque<Session> sessions;
  std::vector<Case> all;

  Cases(const ParallelForFn& scheduler, const std::string& isa) {
    for (const auto& [model, wants] : known_models()) {
      SessionOptions options;
      options.isa = isa;
      options.parallel_for = scheduler;
      sessions.push_back(Session::create(model.graph, options).value());
      for (size_t i = 0; i < wants.size(); ++i)
        all.push_back({model.name, &sessions.back(), model.feeds[i], wants[i]});
    }
  }
};

/// Runs chunks one after the other on the calling thread, and something else after the first of
/// each loop.
struct Interruption {
  std::function<void()> other;
  int64_t times = 0;

  void parallel_for(int64_t chunks, const std::function<void(int64_t)>& chunk) {
    for (int64_t i = 0; i < chunks; ++i) {
      chunk(i);
      if (i != 0 || !other) continue;
      const std::function<void()> now = std::exchange(other, nullptr); // not within itself
      ++times;
      now();
      other = now;
    }
  }
};

TEST(Scheduler, AnotherRunMayComeBetweenTheChunksOfALoop) {
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    Interruption interruption;
    const Cases cases(
        [&](int64_t chunks, const auto& chunk) { interruption.parallel_for(chunks, chunk); },
        std::string(isa_name(isa)));
    // Within each the other size of its model, and another model.
    for (size_t i = 0; i < cases.all.size(); ++i)
      for (const size_t step : {1, 2}) {
        const Case& outer = cases.all[i];
        const Case& inner = cases.all[(i + step) % cases.all.size()];
        int wrong = 0;
        interruption = {[&] { wrong += inner.right(true) ? 0 : 1; }, 0};
        EXPECT_TRUE(outer.right(true)) << outer.name << " around " << inner.name;
        EXPECT_EQ(wrong, 0) << inner.name << " inside " << outer.name;
        EXPECT_GT(interruption.times, 0) << outer.name << " has no loop of several chunks";
        interruption.other = nullptr;
      }
  }
}

TEST(Scheduler, ACallOfTheSessionItselfMayComeWithinAnother) {
  Interruption interruption;
  const Cases cases(
      [&](int64_t chunks, const auto& chunk) { interruption.parallel_for(chunks, chunk); }, {});
  for (const Case& c : cases.all) {
    int wrong = 0;
    interruption = {[&] { wrong += c.right(false) ? 0 : 1; }, 0};
    EXPECT_TRUE(c.right(false)) << c.name;
    EXPECT_EQ(wrong, 0) << c.name << " inside itself";
    interruption.other = nullptr;
  }
}

/// Threads that take whatever there is to do: chunks of any loop, and, also while they wait for a
/// loop of their own, whole runs.
class StealingPool {
 public:
  explicit StealingPool(int threads) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this] { work(); });
  }
  ~StealingPool() {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_)
      thread.join();
  }
  StealingPool(const StealingPool&) = delete;
  StealingPool& operator=(const StealingPool&) = delete;

  void parallel_for(int64_t chunks, const std::function<void(int64_t)>& chunk) {
    std::atomic<int64_t> left{chunks};
    {
      const std::scoped_lock lock(mutex_);
      for (int64_t i = 0; i < chunks; ++i)
        chunks_.emplace_back([&chunk, &left, i] {
          chunk(i);
          left.fetch_sub(1);
        });
    }
    wake_.notify_all();
    while (left.load() > 0)
      if (!do_something()) std::this_thread::yield();
  }

  /// Returns when all are done.
  void run_all(std::deque<std::function<void()>> runs) {
    left_.store(std::ssize(runs));
    {
      const std::scoped_lock lock(mutex_);
      runs_ = std::move(runs);
    }
    wake_.notify_all();
    while (left_.load() > 0)
      if (!do_something()) std::this_thread::yield();
  }

  /// Runs that began on a thread that waited for a loop of another one.
  int64_t stolen() const { return stolen_.load(); }

 private:
  /// How many runs may be under way on one thread's stack.
  static constexpr int kDeepest = 4;

  bool do_something() {
    std::function<void()> task;
    bool whole = false;
    {
      const std::scoped_lock lock(mutex_);
      whole = !runs_.empty() && depth < kDeepest && (chunks_.empty() || random_.below(4) == 0);
      std::deque<std::function<void()>>& from = whole ? runs_ : chunks_;
      if (from.empty()) return false;
      task = std::move(from.front());
      from.pop_front();
    }
    if (!whole) {
      task();
      return true;
    }
    if (depth > 0) stolen_.fetch_add(1);
    ++depth;
    task();
    --depth;
    left_.fetch_sub(1);
    return true;
  }

  void work() {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stop_ || !runs_.empty() || !chunks_.empty(); });
        if (stop_) return;
      }
      do_something();
    }
  }

  static thread_local int depth;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> chunks_, runs_;
  Philox random_{1};
  bool stop_ = false;
  std::atomic<int64_t> left_{0}, stolen_{0};
  std::vector<std::thread> threads_;
};

thread_local int StealingPool::depth = 0;

TEST(Scheduler, AThousandRunsThatStealFromEachOther) {
  StealingPool pool(2);
  const Cases cases([&](int64_t chunks, const auto& chunk) { pool.parallel_for(chunks, chunk); },
                    {});
  std::atomic<int> right{0};
  std::deque<std::function<void()>> runs;
  constexpr int kRuns = 1000;
  for (int i = 0; i < kRuns; ++i)
    runs.emplace_back([&, i] {
      const Case& c = cases.all[static_cast<size_t>(i * 7) % cases.all.size()];
      if (c.right(i % 3 == 0)) right.fetch_add(1);
    });
  pool.run_all(std::move(runs));
  EXPECT_EQ(right.load(), kRuns);
  EXPECT_GT(pool.stolen(), kRuns / 10);
}

/// Ends the program where `work` has not come to an end after a while: threads that wait for ever
/// cannot be joined.
void bounded(const std::function<void()>& work) {
  std::packaged_task<void()> task(work);
  const std::future<void> done = task.get_future();
  std::thread thread(std::move(task));
  if (done.wait_for(std::chrono::seconds(120)) != std::future_status::ready) {
    std::fputs("some thread waits for ever\n", stderr);
    std::_Exit(1);
  }
  thread.join();
}

/// Waits a while for `count` to reach 2.
void wait_for_two(const std::atomic<int>& count) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (count.load() < 2 && std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
}

/// Each tap waits until another one is under way.
TEST(Scheduler, StreamsOfOneExecutorCoincideAndStealFromEachOther) {
  StealingPool pool(2);
  SessionOptions options;
  options.parallel_for = [&](int64_t chunks, const auto& chunk) {
    pool.parallel_for(chunks, chunk);
  };
  for (const Known& known : known_models()) {
    const SchedulerModel& model = known.model;
    const std::vector<Tensor>& wants = known.wants;
    const auto executor = make_native_executor(model.graph, options).value();
    std::atomic<int> right{0}, inside{0};
    std::atomic<bool> met{false};
    const auto stream = [&](size_t feed) {
      const auto tap = [&](size_t, const Tensor& y) {
        inside.fetch_add(1);
        if (!met.load()) wait_for_two(inside);
        if (inside.load() > 1) met.store(true);
        if (y.identical(wants[feed])) right.fetch_add(1);
        inside.fetch_sub(1);
        return ok_status();
      };
      EXPECT_TRUE(executor->stream(model.feeds[feed], tap).ok());
    };
    constexpr int kRuns = 40;
    std::deque<std::function<void()>> runs;
    for (int i = 0; i < kRuns; ++i)
      runs.emplace_back([&, i] { stream(static_cast<size_t>(i) % wants.size()); });
    bounded([&] { pool.run_all(std::move(runs)); });
    EXPECT_EQ(right.load(), kRuns) << model.name;
    EXPECT_TRUE(met.load()) << model.name << ": one stream waits for the other";
  }
  EXPECT_GT(pool.stolen(), 0);
}

TEST(Scheduler, AStreamMayComeWithinAnotherOfItsExecutor) {
  const SchedulerModel& model = known_models()[0].model;
  const std::vector<Tensor>& wants = known_models()[0].wants;
  Interruption interruption;
  SessionOptions options;
  options.parallel_for = [&](int64_t chunks, const auto& chunk) {
    interruption.parallel_for(chunks, chunk);
  };
  const auto executor = make_native_executor(model.graph, options).value();
  int right = 0;
  const auto stream = [&](const std::function<void()>& within) {
    const auto tap = [&](size_t, const Tensor& y) {
      if (within) within();
      right += y.identical(wants[0]) ? 1 : 0;
      return ok_status();
    };
    EXPECT_TRUE(executor->stream(model.feeds[0], tap).ok());
  };
  bounded([&] { stream([&] { stream(nullptr); }); });
  EXPECT_EQ(right, 2) << "within the tap";
  interruption.other = [&] { stream(nullptr); };
  bounded([&] { stream(nullptr); });
  EXPECT_GT(interruption.times, 0);
  EXPECT_EQ(right, 3 + interruption.times) << "within the scheduler";
}

TEST(Scheduler, SeesNoExceptionOfAChunk) {
  std::atomic<int> seen{0}, thrown{0};
  SessionOptions options;
  options.parallel_for = [&](int64_t chunks, const std::function<void(int64_t)>& chunk) {
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < chunks; ++i)
      threads.emplace_back([&, i] {
        try {
          chunk(i);
        } catch (...) {
          ++seen;
        }
      });
    for (std::thread& thread : threads)
      thread.join();
  };
  const auto workers = runtime::make_workers(options);
  const auto chunk = [&](int64_t begin, int64_t) {
    if (begin % 2 == 0) return;
    ++thrown;
    throw std::bad_alloc();
  };
  EXPECT_THROW(workers->loop().run(8, 1, chunk), std::bad_alloc);
  EXPECT_EQ(thrown.load(), 4);
  EXPECT_EQ(seen.load(), 0);
}

TEST(Scheduler, WhatItThrowsBecomesAnError) {
  SessionOptions options;
  bool out_of_memory = true, fails = false;
  options.parallel_for = [&](int64_t chunks, const std::function<void(int64_t)>& chunk) {
    if (fails && out_of_memory) throw std::bad_alloc();
    if (fails) throw std::runtime_error("no such thread");
    for (int64_t i = 0; i < chunks; ++i)
      chunk(i);
  };
  const SchedulerModel& model = known_models()[0].model;
  Session session = Session::create(model.graph, options).value();
  const auto want = session.run(model.feeds[0]);
  ASSERT_TRUE(want.ok());
  fails = true;
  for (const char* text : {"no memory left for the run; use a smaller batch",
                           "an exception was thrown: no such thread"}) {
    const auto y = session.run(model.feeds[0]);
    ASSERT_FALSE(y.ok());
    EXPECT_EQ(y.error().text(), text);
    out_of_memory = false;
  }
  fails = false;
  const auto again = session.run(model.feeds[0]);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)[0].identical((*want)[0]));
}

} // namespace
} // namespace octet
