// SPDX-License-Identifier: Apache-2.0
// Gloo process group and the store that processes meet at.
#include "train/distributed/peers.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "core/format.h"
#include "core/hash.h"
#include "train/guard.h"
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#define USE_C10D_GLOO // LibTorch's header declares the group only then
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace octet::train {
namespace {

constexpr int64_t kBucketElements = 4 << 20; ///< of gradients that travel together

bool is_set_to(const char* name, std::string_view value) {
  const char* text = std::getenv(name);
  return text != nullptr && text == value;
}

/// The interface that GLOO_SOCKET_IFNAME names, the loopback where rank 0 is on it, else the one
/// that this machine's name stands for.
std::shared_ptr<::gloo::transport::Device> choose_device(const std::string& address) {
  using Gloo = c10d::ProcessGroupGloo;
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME"); interface != nullptr)
    return Gloo::createDeviceForInterface(interface);
  if (address == "localhost" || address.starts_with("127."))
    return Gloo::createDeviceForHostname("127.0.0.1");
  return Gloo::createDefaultDevice();
}

class GlooPeers final : public Peers {
 public:
  explicit GlooPeers(const World& world) : world_(world) {
    const std::chrono::milliseconds timeout(
        static_cast<int64_t>(std::max(1.0, world.timeout_seconds) * 1000));
    c10d::TCPStoreOptions store;
    store.port = static_cast<std::uint16_t>(world.port);
    // torchrun's agent may have opened the store already.
    store.isServer = world.rank == 0 && !is_set_to("TORCHELASTIC_USE_AGENT_STORE", "True");
    store.numWorkers = static_cast<std::size_t>(world.size);
    store.waitWorkers = false;
    store.timeout = timeout;
    const char* attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
    store_ = c10::make_intrusive<c10d::PrefixStore>(
        fmt::format("octet/{}", attempt == nullptr ? "0" : attempt),
        c10::make_intrusive<c10d::TCPStore>(world.address, store));
    auto options = c10d::ProcessGroupGloo::Options::create_default(timeout);
    options->devices = {choose_device(world.address)};
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store_, world.rank, world.size, options);
  }

  Status sum(const std::vector<at::Tensor>& tensors) override {
    return talk([&] {
      const at::NoGradGuard no_gradient;
      size_t begin = 0;
      while (begin < tensors.size()) {
        size_t end = begin;
        int64_t elements = 0;
        for (; end < tensors.size() && (end == begin || elements < kBucketElements); ++end)
          elements += tensors[end].numel();
        sum_bucket({tensors.begin() + static_cast<ptrdiff_t>(begin),
                    tensors.begin() + static_cast<ptrdiff_t>(end)});
        begin = end;
      }
    });
  }

  Result<std::vector<double>> sum(const std::vector<double>& values) override {
    at::Tensor t = at::empty({static_cast<int64_t>(values.size())}, at::kDouble);
    std::memcpy(t.mutable_data_ptr(), values.data(), values.size() * sizeof(double));
    OCTET_TRY(talk([&] { all_reduce(t); }));
    const double* data = t.const_data_ptr<double>();
    return std::vector<double>(data, data + values.size());
  }

  Status agree(const std::string& text, const char* what) override {
    at::Tensor t = at::zeros({world_.size}, at::kLong);
    t.mutable_data_ptr<int64_t>()[world_.rank] =
        static_cast<int64_t>(hash_bytes(std::as_bytes(std::span(text.data(), text.size()))));
    OCTET_TRY(talk([&] { all_reduce(t); }));
    const int64_t* hashes = t.const_data_ptr<int64_t>();
    for (int rank = 1; rank < world_.size; ++rank)
      if (hashes[rank] != hashes[0])
        return error("the process with RANK {} has {} than the one with RANK 0", rank, what);
    return ok_status();
  }

 private:
  void all_reduce(at::Tensor& tensor) {
    std::vector<at::Tensor> list{tensor};
    group_->allreduce(list)->wait();
  }

  void sum_bucket(const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> flat;
    flat.reserve(tensors.size());
    for (const at::Tensor& t : tensors)
      flat.push_back(t.reshape({-1}));
    at::Tensor bucket = at::cat(flat).to(at::kCPU);
    all_reduce(bucket);
    int64_t at = 0;
    for (const at::Tensor& t : tensors) {
      t.copy_(bucket.narrow(0, at, t.numel()).view(t.sizes()));
      at += t.numel();
    }
  }

  /// Gloo tells of a lost connection and of a timeout by throwing.
  template <class Fn>
  Status talk(const Fn& fn) {
    try {
      fn();
      return ok_status();
    } catch (...) {
      const Error cause = current_error();
      return error("another process of the run (WORLD_SIZE {}) is gone or did not answer within {} "
                   "s: {}; start all of them again, --resume continues from the checkpoint",
                   world_.size, world_.timeout_seconds, cause.text());
    }
  }

  World world_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::Backend> group_;
};

} // namespace

Result<std::unique_ptr<Peers>> Peers::join(const World& world) {
  try {
    return std::unique_ptr<Peers>(std::make_unique<GlooPeers>(world));
  } catch (...) {
    const Error cause = current_error();
    return error("RANK {} of {} cannot meet the others at {}:{} within {} s: {}; check that all "
                 "are started and see MASTER_ADDR and MASTER_PORT",
                 world.rank, world.size, world.address, world.port, world.timeout_seconds,
                 cause.text());
  }
}

} // namespace octet::train
