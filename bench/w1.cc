// SPDX-License-Identifier: Apache-2.0
// The layers of the small convolutional network (28x28, 1 to 8 to 64 channels, 256 to 128 to 10) in
// int8, one at a time, single thread.
#include <vector>

#include "core/threads.h"
#include "runtime/kernels/iconv.h"
#include <benchmark/benchmark.h>

namespace octet::kernels {
namespace {

ConvShape first_layer() {
  ConvShape s;
  s.in_h = s.in_w = 28;
  s.in_c = 1;
  s.out_h = s.out_w = 13;
  s.out_c = 8;
  s.kernel_h = s.kernel_w = 3;
  s.stride_h = s.stride_w = 2;
  return s;
}

ConvShape second_layer() {
  ConvShape s = first_layer();
  s.in_h = s.in_w = 13;
  s.in_c = 8;
  s.out_h = s.out_w = 6;
  s.out_c = 64;
  return s;
}

std::vector<int8_t> some_weights(int64_t count) {
  std::vector<int8_t> w(static_cast<size_t>(count));
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] = static_cast<int8_t>(static_cast<int>(i * 37 % 101) - 50);
  }
  return w;
}

void convolution(benchmark::State& state, ConvShape s, XRange range) {
  const Result<Isa> isa = selected_isa();
  if (!isa.ok()) return state.SkipWithError(isa.error().text().c_str());
  s.batch = state.range(0);
  const std::vector<int8_t> w = some_weights(s.out_c * s.k());
  const PackedConv packed = pack_conv(w.data(), s, range, *isa);
  const float multiplier = 0.001F;
  const std::vector<IgemmColumns> columns =
      make_conv_columns(packed, {.multiplier = &multiplier, .multiplier_count = 1});
  const std::vector<int8_t> x =
      std::vector<int8_t>(static_cast<size_t>(s.batch * s.in_h * s.in_w * s.in_c), 5);
  std::vector<int8_t> y(static_cast<size_t>(s.pixels() * s.out_c));
  SerialFor serial;
  IconvArgs args;
  args.shape = s;
  args.x = x.data();
  args.w = &packed;
  args.columns = columns.data();
  args.epilogue.lo = 0;
  args.y = y.data();
  AlignedBuffer shared(shared_bytes(args));
  args.shared = shared.as<std::byte>();
  for ([[maybe_unused]] auto _ : state) {
    iconv(args, serial);
    benchmark::DoNotOptimize(y.data());
  }
  state.counters["gops"] =
      benchmark::Counter(2.0 * static_cast<double>(s.pixels() * s.out_c * s.k()) * 1e-9,
                         benchmark::Counter::kIsIterationInvariantRate);
}

void dense(benchmark::State& state, int64_t k, int64_t n) {
  const Result<Isa> isa = selected_isa();
  if (!isa.ok()) return state.SkipWithError(isa.error().text().c_str());
  const int64_t m = state.range(0);
  const std::vector<int8_t> w = some_weights(n * k);
  const PackedWeights packed = pack_weights(w.data(), k, n, k, {.lo = 0}, *isa);
  const float multiplier = 0.001F;
  const IgemmColumns columns =
      make_columns(packed, {.multiplier = &multiplier, .multiplier_count = 1});
  const std::vector<int8_t> x(static_cast<size_t>(m * k), 5);
  std::vector<int8_t> y(static_cast<size_t>(m * n));
  SerialFor serial;
  IgemmArgs args;
  args.m = m;
  args.x = x.data();
  args.x_stride = k;
  args.w = &packed;
  args.columns = &columns;
  args.y = y.data();
  args.y_stride = n;
  AlignedBuffer shared(shared_bytes(args));
  args.shared = shared.as<std::byte>();
  for ([[maybe_unused]] auto _ : state) {
    igemm(args, serial);
    benchmark::DoNotOptimize(y.data());
  }
}

BENCHMARK_CAPTURE(convolution, conv1, first_layer(), XRange{})->Arg(1)->Arg(64);
BENCHMARK_CAPTURE(convolution, conv2, second_layer(), XRange{.lo = 0})->Arg(1)->Arg(64);
BENCHMARK_CAPTURE(dense, fc1, 256, 128)->Arg(1)->Arg(64);
BENCHMARK_CAPTURE(dense, fc2, 128, 10)->Arg(1)->Arg(64);

} // namespace
} // namespace octet::kernels
