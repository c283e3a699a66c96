// SPDX-License-Identifier: Apache-2.0
// Exact int8 product, single thread, beside oneDNN's u8s8 matmul (which saturates without VNNI).
// Weights are Gaussian, scaled per channel so that the largest is 127, as trained ones are.
#include "runtime/kernels/igemm.h"

#include <cmath>

#include "core/threads.h"
#include "side_by_side.h"

#if OCTET_HAVE_ONEDNN
#include <dnnl.hpp>
#endif

namespace octet::kernels {
namespace {

struct Shape {
  int64_t m, k, n;
};

std::vector<int8_t> gaussian_weights(const Shape& s) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<int8_t> w(static_cast<size_t>(s.n * s.k));
  std::vector<float> row(static_cast<size_t>(s.k));
  for (int64_t j = 0; j < s.n; ++j) {
    float amax = 0.0F;
    for (float& v : row) {
      v = normal(random);
      amax = std::max(amax, std::abs(v));
    }
    for (size_t i = 0; i < row.size(); ++i) {
      w[static_cast<size_t>(j * s.k) + i] =
          static_cast<int8_t>(std::lround(row[i] * 127.0F / amax));
    }
  }
  return w;
}

struct Ours {
  Ours(const Shape& s, XRange range, Isa isa)
      : shape(s), x(static_cast<size_t>(s.m * s.k)), y(static_cast<size_t>(s.m * s.n)) {
    std::mt19937 random(8);
    std::normal_distribution<float> normal(0.5F * static_cast<float>(range.lo + range.hi),
                                           static_cast<float>(range.hi - range.lo) / 7.0F);
    for (int8_t& v : x) {
      v = static_cast<int8_t>(
          std::clamp(normal(random), static_cast<float>(range.lo), static_cast<float>(range.hi)));
    }
    const std::vector<int8_t> weights = gaussian_weights(s);
    w = pack_weights(weights.data(), s.k, s.n, s.k, range, isa);
    const float multiplier = 0.0005F;
    columns = make_columns(w, {.multiplier = &multiplier, .multiplier_count = 1});
  }
  void operator()() {
    IgemmArgs args;
    args.m = shape.m;
    args.x = x.data();
    args.x_stride = shape.k;
    args.w = &w;
    args.columns = &columns;
    args.y = y.data();
    args.y_stride = shape.n;
    if (shared.bytes() == 0) shared = AlignedBuffer(shared_bytes(args));
    args.shared = shared.as<std::byte>();
    igemm(args, serial);
    benchmark::DoNotOptimize(y.data());
  }
  Shape shape;
  std::vector<int8_t> x;
  std::vector<int8_t> y;
  PackedWeights w;
  IgemmColumns columns;
  AlignedBuffer shared;
  SerialFor serial;
};

#if OCTET_HAVE_ONEDNN
struct Peer {
  Peer(const Shape& s, dnnl::memory::format_tag layout) {
    using dnnl::memory;
    bench::single_threaded_peer();
    const memory::desc x_desc({s.m, s.k}, memory::data_type::u8, memory::format_tag::ab);
    const memory::desc w_desc({s.k, s.n}, memory::data_type::s8, layout);
    const memory::desc w_plain({s.k, s.n}, memory::data_type::s8, memory::format_tag::ba);
    const memory::desc y_desc({s.m, s.n}, memory::data_type::s8, memory::format_tag::ab);
    dnnl::primitive_attr attr;
    attr.set_output_scales(0, {0.0005F});
    const dnnl::matmul::primitive_desc pd({x_desc, w_desc, y_desc}, attr, engine);
    std::vector<int8_t> weights = gaussian_weights(s);
    memory plain(w_plain, engine, weights.data());
    memory packed(pd.weights_desc(), engine);
    dnnl::reorder(plain, packed).execute(stream, plain, packed);
    stream.wait();
    memory x(x_desc, engine);
    memory y(y_desc, engine);
    std::fill_n(static_cast<uint8_t*>(x.get_data_handle()), s.m * s.k, uint8_t{130});
    primitive = dnnl::matmul(pd);
    arguments = {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, y}};
  }
  void operator()() {
    primitive.execute(stream, arguments);
    stream.wait();
  }
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::matmul primitive;
  std::unordered_map<int, dnnl::memory> arguments;
};
#else
struct Peer {
  Peer(const Shape&, int) {}
  void operator()() {}
};
#endif

Peer fastest_peer(const Shape& s) {
#if OCTET_HAVE_ONEDNN
  using Tag = dnnl::memory::format_tag;
  return bench::fastest<Peer>(s, {Tag::any, Tag::ab, Tag::ba});
#else
  return {s, 0};
#endif
}

void product(benchmark::State& state, XRange range) {
  const Shape s{state.range(0), state.range(1), state.range(2)};
  const Result<Isa> isa = selected_isa();
  if (!isa.ok()) return state.SkipWithError(isa.error().text().c_str());
  Ours ours(s, range, *isa);
  Peer peer = fastest_peer(s);
  bench::side_by_side(state, 2.0 * static_cast<double>(s.m * s.k * s.n), ours, peer);
}

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({128, 768, 3072})->Args({128, 3072, 768})->Args({128, 768, 768})->Args({1, 768, 3072});
  b->Args({64, 256, 128})->Args({1, 256, 128})->Args({36, 72, 64});
  b->ArgNames({"m", "k", "n"})->UseManualTime()->Iterations(40)->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(product, int8, XRange{.is_signed = true, .lo = -128, .hi = 127})->Apply(shapes);
BENCHMARK_CAPTURE(product, after_relu, XRange{.is_signed = true, .lo = 0, .hi = 127})
    ->Apply(shapes);

} // namespace
} // namespace octet::kernels
