// SPDX-License-Identifier: Apache-2.0
// The float product that benchmarks time, alone or beside another.
#pragma once

#include <cstdint>
#include <vector>

#include "core/threads.h"
#include "runtime/kernels/sgemm.h"
#include <benchmark/benchmark.h>

namespace octet::kernels {

/// y [m, n] = x [m, k] times weights [k, n].
struct ProductShape {
  int64_t m, k, n;
};

struct FloatProduct {
  FloatProduct(const ProductShape& s, Isa isa)
      : shape(s), x(static_cast<size_t>(s.m * s.k), 0.5F), y(static_cast<size_t>(s.m * s.n)) {
    const std::vector<float> weights(static_cast<size_t>(s.n * s.k), 0.25F);
    w = pack_float({weights.data(), s.n, 1, s.n, s.k}, isa);
  }
  void operator()() {
    SgemmArgs args;
    args.m = shape.m;
    args.x = x.data();
    args.x_stride = shape.k;
    args.w = &w;
    args.y = y.data();
    args.y_stride = shape.n;
    sgemm(args, serial);
    benchmark::DoNotOptimize(y.data());
  }
  ProductShape shape;
  std::vector<float> x, y;
  PackedFloat w;
  SerialFor serial;
};

} // namespace octet::kernels
