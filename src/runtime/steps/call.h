// SPDX-License-Identifier: Apache-2.0
// Steps and prepared nodes from lambdas: most kernels need no class of their own.
#pragma once

#include <memory>
#include <utility>

#include "runtime/step.h"

namespace octet::runtime {

/// A step that calls `fn(slots, parallel)`.
template <class Fn>
class CallStep final : public Step {
 public:
  explicit CallStep(Fn fn) : fn_(std::move(fn)) {}
  Status run(Slots slots, ParallelFor& parallel) const override {
    fn_(slots, parallel);
    return ok_status();
  }

 private:
  Fn fn_;
};

template <class Fn>
Result<std::unique_ptr<Step>> call_step(Fn fn) {
  return std::unique_ptr<Step>(std::make_unique<CallStep<Fn>>(std::move(fn)));
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
