// SPDX-License-Identifier: Apache-2.0
// Dim: one dimension of a shape, a polynomial over symbols: a constant, "N", "batch*12", "seq + 2".
// Shape computations fold on these; two dims are equal when their canonical forms are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octet/result.h"

namespace octet {

class Dim {
 public:
  Dim() = default; ///< unknown and equal to nothing, not even itself
  Dim(int64_t value) : known_(true), constant_(value) {} // NOLINT(google-explicit-constructor)
  static Dim symbol(std::string name);
  static Dim unknown() { return {}; }

  bool is_known() const { return known_; }
  bool is_constant() const { return known_ && terms_.empty(); }
  /// The constant; only when is_constant().
  int64_t value() const { return constant_; }
  std::optional<int64_t> maybe_value() const {
    return is_constant() ? std::optional(constant_) : std::nullopt;
  }
  /// The name, when the dim is exactly one symbol.
  std::optional<std::string> symbol_name() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  /// The quotient when it is exact for every value of the symbols, else unknown.
  friend Dim operator/(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);

  /// The value for given symbols; an error names a symbol that has none.
  Result<int64_t> evaluate(const std::map<std::string, int64_t>& symbols) const;
  /// "?" when unknown; parse(text()) gives the same dim.
  std::string text() const;
  static Result<Dim> parse(std::string_view text);

 private:
  using Monomial = std::vector<std::string>; // sorted, with repetition
  void add_term(const Monomial& symbols, int64_t factor);

  bool known_ = false;
  int64_t constant_ = 0;
  std::map<Monomial, int64_t> terms_; // never holds a factor of 0 nor the empty monomial
};

} // namespace octet
