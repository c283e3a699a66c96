// SPDX-License-Identifier: Apache-2.0
// Contexts of one session: side by side in threads, with a scheduler of the caller's, into tensors
// of the caller's, and with one arena for several shapes.
#include <atomic>
#include <thread>

#include "core/cpu.h"
#include "runtime/w1_graphs.h"
#include "threads/no_new_threads.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/models.h"
#include "octet/session.h"

namespace octet {
namespace {

using test::QdqForm;
using test::random_images;
using test::W1Builder;

/// What the reference executor says of the graph that the session runs.
Tensor expected(const Session& session, const Tensor& x) {
  const auto reference = make_reference_executor(session.lowered()).value();
  return reference->run(std::vector<Tensor>{x}).value()[0];
}

/// Each chunk on whichever of three new threads comes first.
void on_new_threads(int64_t chunks, const std::function<void(int64_t)>& chunk) {
  std::atomic<int64_t> next{0};
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int64_t i = next.fetch_add(1); i < chunks; i = next.fetch_add(1))
        chunk(i);
    });
  for (std::thread& thread : threads)
    thread.join();
}

void backwards(int64_t chunks, const std::function<void(int64_t)>& chunk) {
  for (int64_t i = chunks; i-- > 0;)
    chunk(i);
}

TEST(Context, ManyThreadsShareASession) {
  for (const int own_threads : {1, 2}) {
    const Session session = Session::create(W1Builder(QdqForm::kTensorRt).build(),
                                            {.threads = own_threads, .keep_weights = true})
                                .value();
    constexpr int kCallers = 4;
    std::vector<Tensor> x, want;
    for (int i = 0; i < kCallers; ++i) {
      x.push_back(random_images(3 + 2 * i, static_cast<uint64_t>(i)));
      want.push_back(expected(session, x.back()));
    }
    std::atomic<int> equal{0};
    std::vector<std::thread> callers;
    for (size_t i = 0; i < kCallers; ++i)
      callers.emplace_back([&, i] {
        SessionContext context = session.context();
        for (int run = 0; run < 5; ++run) {
          const auto y = context.run({&x[i], 1});
          if (y.ok() && (*y)[0].identical(want[i])) ++equal;
        }
      });
    for (std::thread& caller : callers)
      caller.join();
    EXPECT_EQ(equal.load(), kCallers * 5) << own_threads << " threads of its own";
  }
}

TEST(Context, CallsOfTheSessionItselfMayCoincide) {
  Session session =
      Session::create(W1Builder(QdqForm::kUint8).build(), {.threads = 2, .keep_weights = true})
          .value();
  const Tensor x = random_images(6, 11);
  const Tensor want = expected(session, x);
  std::atomic<int> equal{0};
  std::vector<std::thread> callers;
  callers.reserve(3);
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      const auto y = session.run(std::vector<Tensor>{x});
      if (y.ok() && (*y)[0].identical(want)) ++equal;
    });
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(equal.load(), 3);
}

TEST(Context, TheCallersSchedulerChangesNoBit) {
  const Graph models[] = {W1Builder(QdqForm::kOnnxRuntime).build(),
                          make_cnn({.dropout = 0}).value()};
  const Tensor x = random_images(33, 12);
  for (const Graph& model : models) {
    for (const ParallelForFn& scheduler :
         {ParallelForFn(on_new_threads), ParallelForFn(backwards)}) {
      std::atomic<int64_t> loops{0};
      SessionOptions options;
      options.keep_weights = true;
      options.parallel_for = [&](int64_t chunks, const std::function<void(int64_t)>& chunk) {
        ++loops;
        scheduler(chunks, chunk);
      };
      Session session = Session::create(model, options).value();
      EXPECT_EQ(session.threads(), 1);
      const auto y = session.run(std::vector<Tensor>{x});
      ASSERT_TRUE(y.ok()) << y.error().text();
      EXPECT_TRUE((*y)[0].identical(expected(session, x)));
      EXPECT_GT(loops.load(), 0);
    }
  }
}

TEST(Context, WritesIntoMemoryOfTheCallers) {
  const Session session =
      Session::create(W1Builder(QdqForm::kTensorRt).build(), {.keep_weights = true}).value();
  SessionContext context = session.context();
  const Tensor x = random_images(4, 13);
  std::vector<float> y(40, -1);
  const std::span<std::byte> place = std::as_writable_bytes(std::span(y));
  ASSERT_TRUE(context.run({&x, 1}, {&place, 1}).ok());
  EXPECT_TRUE(
      Tensor::of<float>({4, 10}, std::span<const float>(y)).identical(expected(session, x)));

  const Tensor larger = random_images(9, 14);
  const Status small = context.run({&larger, 1}, {&place, 1});
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().text(),
            "output \"y\": f32[9, 10] takes 360 bytes but got a place for 160");
  const Status none = context.run({&x, 1}, std::span<const std::span<std::byte>>());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().text(), "the model has 1 outputs but got 0 places for them");
}

TEST(Context, PlansShareOneArenaOfTheLargest) {
  const Session session =
      Session::create(W1Builder(QdqForm::kTensorRt).build(), {.keep_weights = true}).value();
  const auto arena_of = [&](const std::vector<int64_t>& batches) {
    SessionContext context = session.context();
    EXPECT_EQ(context.arena_bytes(), 0U);
    for (const int64_t n : batches) {
      const std::vector<Shape> shapes = {{n, 1, 28, 28}};
      EXPECT_TRUE(context.reserve(shapes).ok());
    }
    return context.arena_bytes();
  };
  const size_t largest = arena_of({64});
  // The codes of the first two layers live at the same time: [64, 13, 13, 8] and [64, 6, 6, 64].
  EXPECT_GE(largest, 64U * (13 * 13 * 8 + 6 * 6 * 64));
  EXPECT_LT(arena_of({1}) * 32, largest);
  EXPECT_EQ(arena_of({1, 7, 64}), largest);
  EXPECT_EQ(arena_of({64, 7, 1}), largest);
  EXPECT_EQ(arena_of({16, 64, 32, 64, 16}), largest);
}

TEST(Context, ResultsSurviveAGrowingArena) {
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    const Session session =
        Session::create(W1Builder(QdqForm::kOnnxRuntime).build(),
                        {.isa = std::string(isa_name(isa)), .keep_weights = true})
            .value();
    EXPECT_EQ(session.isa(), isa_name(isa));
    SessionContext context = session.context();
    for (const int64_t n : {2, 40, 2, 3, 64, 2}) {
      const Tensor x = random_images(n, static_cast<uint64_t>(n));
      const auto y = context.run({&x, 1});
      ASSERT_TRUE(y.ok()) << y.error().text();
      EXPECT_TRUE((*y)[0].identical(expected(session, x))) << isa_name(isa) << " " << n;
    }
  }
}

TEST(Context, TheNumberOfThreadsHasBounds) {
  const Graph model = make_cnn({.dropout = 0}).value();
  for (const auto& [threads, text] :
       {std::pair{-1, "threads: -1 is no number of threads; use 0 for one on each core"},
        std::pair{1025, "threads: 1025 is more than 1024; use 0 for one on each core"}}) {
    const auto session = Session::create(model, {.threads = threads});
    ASSERT_FALSE(session.ok());
    EXPECT_EQ(session.error().text(), text);
  }
}

TEST(Context, RunsOnTheThreadsThatCanBeStarted) {
  const Graph model = W1Builder(QdqForm::kTensorRt).build();
  const Tensor x = random_images(6, 15);
  const test::NoNewThreads none;
  Session session = Session::create(model, {.threads = 8, .keep_weights = true}).value();
  EXPECT_EQ(session.threads(), 1);
  const auto y = session.run(std::vector<Tensor>{x});
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_TRUE((*y)[0].identical(expected(session, x)));
}

TEST(Context, ReserveWantsAShapeForEachInput) {
  const Session session = Session::create(make_cnn({.dropout = 0}).value()).value();
  SessionContext context = session.context();
  const Status status = context.reserve({});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().text(), "the model has 1 inputs but got 0 shapes");
}

} // namespace
} // namespace octet
