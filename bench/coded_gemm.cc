// SPDX-License-Identifier: Apache-2.0
// Product with stored codes, single thread, beside the float product of the same weights.
#include "runtime/kernels/coded_gemm.h"

#include "core/threads.h"
#include "float_product.h"
#include "side_by_side.h"

namespace octet::kernels {
namespace {

struct Coded {
  Coded(const ProductShape& s, DType type, int64_t block_size, Isa isa)
      : shape(s), block(block_size == 0 ? s.k : block_size),
        x(static_cast<size_t>(s.m * s.k), 0.5F), y(static_cast<size_t>(s.m * s.n)) {
    std::vector<std::byte> codes(static_cast<size_t>(s.n * s.k * bits(type) / 8));
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<std::byte>(i * 37 % 251 % 120); // all are numbers
    w = pack_codes(codes, type, s.n, s.k, isa);
    const int64_t blocks = s.k / block;
    const std::vector<float> one(static_cast<size_t>(s.n * blocks), 0.01F);
    scales = pack_float({one.data(), 1, blocks, s.n, blocks}, isa);
  }
  void operator()() {
    CodedGemmArgs args;
    args.m = shape.m;
    args.x = x.data();
    args.x_stride = shape.k;
    args.w = &w;
    args.block = block;
    args.scales = &scales;
    args.y = y.data();
    args.y_stride = shape.n;
    coded_gemm(args, serial);
    benchmark::DoNotOptimize(y.data());
  }
  ProductShape shape;
  int64_t block;
  std::vector<float> x, y;
  PackedCodes w;
  PackedFloat scales;
  SerialFor serial;
};

void coded(benchmark::State& state) {
  const ProductShape s{state.range(2), state.range(3), state.range(4)};
  const Result<Isa> isa = selected_isa();
  if (!isa.ok()) return state.SkipWithError(isa.error().text().c_str());
  Coded ours(s, static_cast<DType>(state.range(0)), state.range(1), *isa);
  FloatProduct peer(s, *isa);
  bench::side_by_side(state, 2.0 * static_cast<double>(s.m * s.k * s.n), ours, peer);
}

void each_case(benchmark::internal::Benchmark* b) {
  struct Stored {
    DType type;
    int64_t block;
  };
  for (const Stored& stored :
       {Stored{DType::kInt8, 0}, {DType::kInt4, 32}, {DType::kFloat8E4M3FN, 0}})
    for (const ProductShape& s : {ProductShape{1, 768, 3072},
                                  {16, 768, 3072},
                                  {128, 768, 3072},
                                  {1, 4096, 4096},
                                  {16, 4096, 4096}})
      b->Args({static_cast<int64_t>(stored.type), stored.block, s.m, s.k, s.n});
}

BENCHMARK(coded)
    ->Apply(each_case)
    ->ArgNames({"type", "block", "m", "k", "n"})
    ->UseManualTime()
    ->Iterations(30)
    ->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace octet::kernels
