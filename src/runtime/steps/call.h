// SPDX-License-Identifier: Apache-2.0
// Steps and prepared nodes from lambdas: most kernels need no class of their own.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/step.h"

namespace octet::runtime {

/// A step that calls `fn(slots, parallel)`, or `fn(slots, shared, parallel)` where its threads
/// share memory.
template <class Fn>
class CallStep final : public Step {
 public:
  CallStep(Fn fn, size_t shared_bytes) : fn_(std::move(fn)), shared_bytes_(shared_bytes) {}
  size_t shared_bytes() const override { return shared_bytes_; }
  Result<StepEnd> run(Slots slots, std::byte* shared, ParallelFor& parallel) const override {
    if constexpr (std::is_invocable_v<const Fn&, Slots, ParallelFor&>)
      fn_(slots, parallel);
    else
      fn_(slots, shared, parallel);
    return StepEnd::kDone;
  }

 private:
  Fn fn_;
  size_t shared_bytes_;
};

template <class Fn>
Result<std::unique_ptr<Step>> call_step(Fn fn) {
  return std::unique_ptr<Step>(std::make_unique<CallStep<Fn>>(std::move(fn), 0));
}
template <class Fn>
Result<std::unique_ptr<Step>> call_step(size_t shared_bytes, Fn fn) {
  return std::unique_ptr<Step>(std::make_unique<CallStep<Fn>>(std::move(fn), shared_bytes));
}

/// A prepared node whose `bind` is `fn(inputs, outputs)`.
template <class Fn>
class BindPrepared final : public Prepared {
 public:
  explicit BindPrepared(Fn fn) : fn_(std::move(fn)) {}
  Result<std::unique_ptr<Step>> bind(std::span<const Operand> in,
                                     std::span<const Operand> out) const override {
    return fn_(in, out);
  }

 private:
  Fn fn_;
};

template <class Fn>
std::unique_ptr<Prepared> bind_with(Fn fn) {
  return std::make_unique<BindPrepared<Fn>>(std::move(fn));
}

/// The slot of an operand, typed.
template <class T>
T* at(Slots slots, int32_t id) {
  return static_cast<T*>(static_cast<void*>(slots[static_cast<size_t>(id)]));
}

} // namespace octet::runtime
