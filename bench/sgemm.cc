// SPDX-License-Identifier: Apache-2.0
// Float product, single thread, beside oneDNN's f32 matmul with packed weights.
#include "runtime/kernels/sgemm.h"

#include "core/threads.h"
#include "float_product.h"
#include "side_by_side.h"

#if OCTET_HAVE_ONEDNN
#include <dnnl.hpp>
#endif

namespace octet::kernels {
namespace {

#if OCTET_HAVE_ONEDNN
struct Peer {
  Peer(const ProductShape& s, dnnl::memory::format_tag layout) {
    using dnnl::memory;
    bench::single_threaded_peer();
    const memory::desc x_desc({s.m, s.k}, memory::data_type::f32, memory::format_tag::ab);
    const memory::desc w_desc({s.k, s.n}, memory::data_type::f32, layout);
    const memory::desc y_desc({s.m, s.n}, memory::data_type::f32, memory::format_tag::ab);
    const dnnl::matmul::primitive_desc pd({x_desc, w_desc, y_desc}, engine);
    memory w(pd.weights_desc(), engine);
    memory x(x_desc, engine);
    memory y(y_desc, engine);
    std::fill_n(static_cast<float*>(x.get_data_handle()), s.m * s.k, 0.5F);
    std::fill_n(static_cast<float*>(w.get_data_handle()), s.k * s.n, 0.25F);
    primitive = dnnl::matmul(pd);
    arguments = {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}};
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
  Peer(const ProductShape&, int) {}
  void operator()() {}
};
#endif

Peer fastest_peer(const ProductShape& s) {
#if OCTET_HAVE_ONEDNN
  using Tag = dnnl::memory::format_tag;
  return bench::fastest<Peer>(s, {Tag::any, Tag::ab, Tag::ba});
#else
  return {s, 0};
#endif
}

void product(benchmark::State& state) {
  const ProductShape s{state.range(0), state.range(1), state.range(2)};
  const Result<Isa> isa = selected_isa();
  if (!isa.ok()) return state.SkipWithError(isa.error().text().c_str());
  FloatProduct ours(s, *isa);
  Peer peer = fastest_peer(s);
  bench::side_by_side(state, 2.0 * static_cast<double>(s.m * s.k * s.n), ours, peer);
}

BENCHMARK(product)
    ->Args({128, 768, 3072})
    ->Args({128, 3072, 768})
    ->Args({128, 768, 768})
    ->Args({1, 768, 3072})
    ->Args({64, 256, 128})
    ->Args({36, 72, 64})
    ->ArgNames({"m", "k", "n"})
    ->UseManualTime()
    ->Iterations(30)
    ->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace octet::kernels
