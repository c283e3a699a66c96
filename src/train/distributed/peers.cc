// SPDX-License-Identifier: Apache-2.0
// Gloo process group and the store that processes meet at.
#include "train/distributed/peers.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "core/format.h"
#include "core/hash.h"
#include "core/progress.h"
#include "train/guard.h"
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Logging.h>
#define USE_C10D_GLOO // LibTorch's header declares the group only then
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace octet::train {
namespace {

constexpr int kFatalOnly = 3; ///< of c10's log levels; errors come back as such
constexpr std::chrono::milliseconds kAttempt{1000}; ///< to reach rank 0's store
constexpr int64_t kBucketElements = 4 << 20;        ///< of gradients that travel together

std::chrono::milliseconds timeout_of(const World& world) {
  return std::chrono::milliseconds(
      static_cast<int64_t>(std::max(1.0, world.timeout_seconds) * 1000));
}

/// The cause behind a colon, unless it is a line of Gloo's log, "[.../pair.cc:545] ...".
std::string told(const Error& cause) {
  return cause.text().starts_with("[") ? "" : ": " + cause.text();
}

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

/// The time that is left for the others to come.
class Wait {
 public:
  Wait(std::chrono::milliseconds timeout, const CancelToken* cancel)
      : end_(std::chrono::steady_clock::now() + timeout), cancel_(cancel) {}

  bool cancelled() const { return cancel_ != nullptr && cancel_->cancelled(); }
  /// After a short sleep: false when it is over.
  bool goes_on() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return !cancelled() && std::chrono::steady_clock::now() < end_;
  }

 private:
  std::chrono::steady_clock::time_point end_;
  const CancelToken* cancel_;
};

class GlooPeers final : public Peers {
 public:
  GlooPeers(const World& world, const Wait& wait) : world_(world) {
    const std::chrono::milliseconds timeout = timeout_of(world);
    // c10d would log every attempt to reach a store that is not open yet.
    if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr)
      FLAGS_caffe2_log_level = std::max(FLAGS_caffe2_log_level, kFatalOnly);
    c10d::TCPStoreOptions store;
    store.port = static_cast<std::uint16_t>(world.port);
    // torchrun's agent may have opened the store already.
    store.isServer = world.rank == 0 && !is_set_to("TORCHELASTIC_USE_AGENT_STORE", "True");
    store.numWorkers = static_cast<std::size_t>(world.size);
    store.waitWorkers = false;
    const char* attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
    store_ = c10::make_intrusive<c10d::PrefixStore>(
        fmt::format("octet/{}", attempt == nullptr ? "0" : attempt), open_store(store, wait));
    store_->setTimeout(timeout);
    wait_for_all(wait);
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
  /// The store gives up after a short while, so that a signal is heeded.
  c10::intrusive_ptr<c10d::TCPStore> open_store(c10d::TCPStoreOptions options,
                                                const Wait& wait) const {
    options.timeout = kAttempt;
    for (;;) {
      try {
        return c10::make_intrusive<c10d::TCPStore>(world_.address, options);
      } catch (const c10::Error&) {
        if (options.isServer || !wait.goes_on()) throw;
      }
    }
  }

  /// Gloo's own meeting cannot be stopped; it begins when nobody is missing.
  void wait_for_all(const Wait& wait) {
    const auto name = [](int rank) { return fmt::format("present/{}", rank); };
    store_->set(name(world_.rank), "1");
    for (int rank = 0; rank < world_.size; ++rank)
      while (!store_->check({name(rank)}))
        if (!wait.goes_on())
          throw std::runtime_error(fmt::format("the process with RANK {} did not come", rank));
  }

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
                   "s{}; start all of them again, --resume continues from the checkpoint",
                   world_.size, world_.timeout_seconds, told(cause));
    }
  }

  World world_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::Backend> group_;
};

} // namespace

Result<std::unique_ptr<Peers>> Peers::join(const World& world, const CancelToken* cancel) {
  const Wait wait(timeout_of(world), cancel);
  try {
    return std::unique_ptr<Peers>(std::make_unique<GlooPeers>(world, wait));
  } catch (...) {
    const Error cause = current_error();
    if (wait.cancelled())
      return Error("stopped while waiting for the other processes", ErrorCode::kCancelled);
    return error("RANK {} of {} cannot meet the others at {}:{} within {} s{}; check that all "
                 "are started and see MASTER_ADDR and MASTER_PORT",
                 world.rank, world.size, world.address, world.port, world.timeout_seconds,
                 told(cause));
  }
}

} // namespace octet::train
