// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/classify.h"

#include <cmath>
#include <limits>

#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kElementNs = 0.2;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

} // namespace

void classify(FloatClass of, const float* x, int64_t count, uint8_t* y, ParallelFor& parallel) {
  const auto where = [&](auto is_one) {
    parallel.run(count, grain_for(kElementNs), [&](int64_t begin, int64_t end) {
      // Stores of bytes may alias what a loop captures.
      const float* const from = x + begin;
      uint8_t* const to = y + begin;
      const int64_t size = end - begin;
      for (int64_t i = 0; i < size; ++i)
        to[i] = is_one(from[i]) ? 1 : 0;
    });
  };
  switch (of) {
  case FloatClass::kNone:
    return where([](float) { return false; });
  case FloatClass::kNan:
    return where([](float v) { return v != v; });
  case FloatClass::kInfinite:
    return where([](float v) { return std::fabs(v) == kInfinity; });
  case FloatClass::kPositiveInfinite:
    return where([](float v) { return v == kInfinity; });
  case FloatClass::kNegativeInfinite:
    return where([](float v) { return v == -kInfinity; });
  }
}

} // namespace octet::kernels
