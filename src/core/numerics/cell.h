// SPDX-License-Identifier: Apache-2.0
// One step of one hidden unit of LSTM, GRU and RNN in float, given the sums of its gates: the
// specification of octet.native's operators and of the vector kernel (runtime/kernels/recur.h).
#pragma once

#include <cmath>
#include <limits>

#include "core/numerics/math.h"
#include "core/numerics/round.h"

namespace octet::numerics {

/// A function of a gate, after which nothing is rounded again.
struct CellFunction {
  enum class Kind : uint8_t {
    kSigmoid,
    kTanh,
    kRelu,
    kHardSigmoid, ///< min(max(alpha x + beta, 0), 1), the sum fused
  };
  Kind kind = Kind::kSigmoid;
  float alpha = 0, beta = 0;
};

/// ONNX's names: LSTM has f, g and h, GRU f and g, RNN f.
struct CellRules {
  CellFunction f, g, h;
  float clip = std::numeric_limits<float>::infinity(); ///< of what functions take, both ways
  bool coupled = false;                                ///< LSTM: the forget gate is 1 - input gate

  /// LSTM as it mostly is, for which vectors have a shorter way.
  bool usual() const {
    return f.kind == CellFunction::Kind::kSigmoid && g.kind == CellFunction::Kind::kTanh &&
           h.kind == CellFunction::Kind::kTanh && !coupled &&
           clip == std::numeric_limits<float>::infinity();
  }
};

inline float apply(const CellFunction& f, float clip, float x) {
  x = clamp_keep_nan(x, -clip, clip);
  switch (f.kind) {
  case CellFunction::Kind::kSigmoid:
    return sigmoid(x);
  case CellFunction::Kind::kTanh:
    return tanh(x);
  case CellFunction::Kind::kRelu:
    return relu(x);
  case CellFunction::Kind::kHardSigmoid:
    return clamp_keep_nan(std::fma(f.alpha, x, f.beta), 0.0F, 1.0F);
  }
  return x;
}

/// Of the gates i, o, f and c; `peepholes` are those of i, o and f, or null.
struct LstmSums {
  float i, o, f, c;
  const float* peepholes;
};

/// `c` and `h` become those of the next step.
inline void lstm_cell(const CellRules& rules, const LstmSums& s, float& c, float& h) {
  const float* p = s.peepholes;
  const float in = apply(rules.f, rules.clip, p == nullptr ? s.i : std::fma(p[0], c, s.i));
  const float forget =
      rules.coupled ? 1.0F - in
                    : apply(rules.f, rules.clip, p == nullptr ? s.f : std::fma(p[2], c, s.f));
  c = std::fma(forget, c, in * apply(rules.g, rules.clip, s.c));
  const float out = apply(rules.f, rules.clip, p == nullptr ? s.o : std::fma(p[1], c, s.o));
  h = out * apply(rules.h, rules.clip, c);
}

/// `z`: the update gate, n: the sum of the candidate, both of one step.
inline float gru_cell(const CellRules& rules, float z, float n, float h) {
  return std::fma(z, h, (1.0F - z) * apply(rules.g, rules.clip, n));
}

} // namespace octet::numerics
