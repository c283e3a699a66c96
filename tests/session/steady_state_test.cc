// SPDX-License-Identifier: Apache-2.0
// A session allocates nothing in steady state: every way to get memory is counted, in all threads,
// while a context runs for the second time and later.
#include <atomic>
#include <cstdlib>

#include "core/cpu.h"
#include "runtime/w1_graphs.h"
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "octet/models.h"
#include "octet/session.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OCTET_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OCTET_SANITIZED 1
#endif
#endif

namespace {

std::atomic<int64_t> allocations{0};

} // namespace

#ifndef OCTET_SANITIZED
// The C library's own entries, which its malloc family stands for; operator new ends there too.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): names of the C library
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? 12 : 0; // ENOMEM
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
#endif

namespace octet {
namespace {

using test::QdqForm;
using test::random_images;
using test::W1Builder;

/// The input at an address that no kernel takes as it is.
Tensor misaligned(const Tensor& t) {
  const auto buffer = Buffer::allocate(t.bytes().size() + 4);
  std::copy(t.bytes().begin(), t.bytes().end(), buffer->writable() + 4);
  return Tensor::view(t.type(), t.shape(), buffer, 4).value();
}

/// Instruction sets of this machine with the numbers of threads to try.
std::vector<SessionOptions> all_options() {
  std::vector<SessionOptions> all;
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    for (const int threads : {1, 2, 3})
      all.push_back({.threads = threads, .isa = std::string(isa_name(isa))});
  }
  return all;
}

/// Calls with two shapes in turn; what is counted is what comes after both were seen once.
int64_t allocations_of_later_runs(const Graph& model, const SessionOptions& options) {
  const Session session = Session::create(model, options).value();
  SessionContext context = session.context();
  const Tensor inputs[] = {random_images(5, 1), misaligned(random_images(5, 2)),
                           random_images(64, 3)};
  std::vector<float> results(size_t{10} * 64);
  const auto run_all = [&] {
    for (const Tensor& x : inputs) {
      const std::span<float> place(results.data(), static_cast<size_t>(10 * x.dim(0)));
      const std::span<std::byte> bytes = std::as_writable_bytes(place);
      if (!context.run({&x, 1}, {&bytes, 1}).ok()) std::abort();
    }
  };
  run_all();
  const int64_t before = allocations.load();
  for (int i = 0; i < 20; ++i)
    run_all();
  return allocations.load() - before;
}

class SteadyState : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef OCTET_SANITIZED
    GTEST_SKIP() << "the sanitizers have an allocator of their own";
#endif
  }
};

TEST_F(SteadyState, TheCounterCounts) {
  const int64_t before = allocations.load();
  const auto tensor = std::make_unique<Tensor>(Tensor::zeros(DType::kInt8, {1}).value());
  EXPECT_GE(allocations.load() - before, 3) << "tensor, shape and bytes";
}

TEST_F(SteadyState, FloatAllocatesNothing) {
  const Graph model = make_cnn({.dropout = 0}).value();
  for (const SessionOptions& options : all_options())
    EXPECT_EQ(allocations_of_later_runs(model, options), 0)
        << options.isa << ", " << options.threads << " threads";
}

TEST_F(SteadyState, Int8AllocatesNothing) {
  for (const QdqForm form : {QdqForm::kTensorRt, QdqForm::kOnnxRuntime, QdqForm::kUint8}) {
    const Graph model = W1Builder(form).build();
    for (const SessionOptions& options : all_options())
      EXPECT_EQ(allocations_of_later_runs(model, options), 0)
          << options.isa << ", " << options.threads << " threads";
  }
}

TEST_F(SteadyState, ALoopOfTheCallersAllocatesNothing) {
  const ParallelForFn serial = [](int64_t chunks, const std::function<void(int64_t)>& chunk) {
    for (int64_t i = 0; i < chunks; ++i)
      chunk(i);
  };
  EXPECT_EQ(
      allocations_of_later_runs(W1Builder(QdqForm::kTensorRt).build(), {.parallel_for = serial}),
      0);
}

} // namespace
} // namespace octet
