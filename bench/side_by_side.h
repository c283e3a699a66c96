// SPDX-License-Identifier: Apache-2.0
// Interleaved timing of a kernel of ours and a peer's: one of each per iteration, so that both see
// the same machine. Reports best and median GOP/s of both and the ratios.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>
#include <dlfcn.h>

namespace octet::bench {

/// Tells an OpenMP runtime that a peer brought along to use one thread.
inline void single_threaded_peer() {
  using SetThreads = void (*)(int);
  if (auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(1);
}

template <typename F>
double seconds(F&& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The peer's fastest form among several layouts of its weights, by a short trial of each.
template <typename Peer, typename Shape, typename Layout>
Peer fastest(const Shape& shape, std::initializer_list<Layout> layouts) {
  std::vector<Peer> peers;
  std::vector<double> times;
  for (const Layout layout : layouts) {
    peers.emplace_back(shape, layout);
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      best = std::min(best, seconds(peers.back()));
    }
    times.push_back(best);
  }
  return peers[static_cast<size_t>(std::min_element(times.begin(), times.end()) - times.begin())];
}

/// `operations` is the work of one call, for both.
template <typename Ours, typename Peer>
void side_by_side(benchmark::State& state, double operations, Ours&& ours, Peer&& peer) {
  std::vector<double> our_times;
  std::vector<double> peer_times;
  ours();
  peer();
  for ([[maybe_unused]] auto _ : state) {
    our_times.push_back(seconds(ours));
    peer_times.push_back(seconds(peer));
    state.SetIterationTime(our_times.back());
  }
  const double our_best = *std::min_element(our_times.begin(), our_times.end());
  const double peer_best = *std::min_element(peer_times.begin(), peer_times.end());
  state.counters["gops_best"] = operations / our_best * 1e-9;
  state.counters["gops_median"] = operations / median(our_times) * 1e-9;
  state.counters["peer_best"] = operations / peer_best * 1e-9;
  state.counters["peer_median"] = operations / median(peer_times) * 1e-9;
  state.counters["ratio_best"] = peer_best / our_best;
  state.counters["ratio_median"] = median(peer_times) / median(our_times);
}

} // namespace octet::bench
