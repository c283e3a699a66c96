// SPDX-License-Identifier: Apache-2.0
// Dim: one dimension of a shape, a polynomial over symbols: a constant, "N", "batch*12", "seq + 2".
// Quotients rounded down stand in it like symbols: "floor((H + 1)/2)", what a stride leaves of H.
// Shape computations fold on these; two dims are equal when their canonical forms are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
  /// The quotient rounded down or up, for a divisor of at least 1; unknown for another.
  friend Dim floor_divide(const Dim& a, int64_t divisor);
  friend Dim ceil_divide(const Dim& a, int64_t divisor);
  friend bool operator==(const Dim& a, const Dim& b);

  /// Whether no size of the symbols can make it negative, as far as its form shows.
  bool is_never_negative() const;

  /// The value for given symbols; an error names a symbol that has none.
  Result<int64_t> evaluate(const std::map<std::string, int64_t>& symbols) const;
  /// "?" when unknown; parse(text()) gives the same dim.
  std::string text() const;
  static Result<Dim> parse(std::string_view text);

 private:
  struct Quotient; // a dividend that does not divide further, and its divisor
  struct Symbol {
    std::string name; // of a quotient its text
    std::shared_ptr<const Quotient> quotient = nullptr;

    bool operator==(const Symbol& other) const;
    bool operator<(const Symbol& other) const;
    std::string text() const;
  };
  using Monomial = std::vector<Symbol>; // sorted, with repetition

  void add_term(const Monomial& symbols, int64_t factor);

  bool known_ = false;
  int64_t constant_ = 0;
  std::map<Monomial, int64_t> terms_; // never holds a factor of 0 nor the empty monomial
};

} // namespace octet
