// SPDX-License-Identifier: Apache-2.0
// The floating-point environment that octet computes in: round to nearest even, subnormals kept.
// Source: docs/numerics.md, "Float layers".
#pragma once

#include <cstdint>

namespace octet {

/// Sets round-to-nearest without flush-to-zero or denormals-are-zero on the calling thread and puts
/// back what it found when it goes out of scope. Every worker and every run holds one.
class FpEnvGuard {
 public:
  FpEnvGuard() noexcept;
  ~FpEnvGuard();
  FpEnvGuard(const FpEnvGuard&) = delete;
  FpEnvGuard& operator=(const FpEnvGuard&) = delete;

 private:
  uint64_t saved_ = 0;
};

/// True when the calling thread rounds to nearest even and keeps subnormals.
bool fp_env_is_default() noexcept;

} // namespace octet
