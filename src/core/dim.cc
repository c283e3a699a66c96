// SPDX-License-Identifier: Apache-2.0
// Polynomials with integer factors over symbols and quotients. Whatever does not fit (overflow, too
// many terms) becomes unknown, which is always a safe answer.
#include "octet/dim.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "core/format.h"

namespace octet {
namespace {

constexpr size_t kMaxTerms = 64;
constexpr size_t kMaxDegree = 16;
constexpr size_t kMaxText = 4096;
/// Of one quotient; it bounds how deep quotients of quotients go too.
constexpr size_t kMaxQuotientText = 256;
constexpr int kMaxNested = 32;

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_name_part(char c) {
  return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

/// The name as it is when it reads as an identifier, else in double quotes.
std::string quoted(const std::string& name) {
  const bool plain = is_name_start(name[0]) && std::all_of(name.begin(), name.end(), is_name_part);
  if (plain) return name;
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

uint64_t magnitude_of(int64_t value) {
  return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
}

std::optional<int64_t> exact_quotient(int64_t a, int64_t b) {
  int64_t negated = 0;
  if (b == -1) {
    if (__builtin_sub_overflow(int64_t{0}, a, &negated)) return std::nullopt;
    return negated;
  }
  return a % b == 0 ? std::optional(a / b) : std::nullopt;
}

int64_t floor_quotient(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
int64_t floor_rest(int64_t a, int64_t b) {
  const int64_t rest = a % b;
  return rest < 0 ? rest + b : rest;
}

} // namespace

struct Dim::Quotient {
  Dim dividend; // factors from 0 to below the divisor
  int64_t divisor = 1;
};

bool Dim::Symbol::operator==(const Symbol& other) const {
  return name == other.name && (quotient == nullptr) == (other.quotient == nullptr);
}
bool Dim::Symbol::operator<(const Symbol& other) const {
  if ((quotient == nullptr) != (other.quotient == nullptr)) return quotient == nullptr;
  return name < other.name;
}
std::string Dim::Symbol::text() const {
  return quotient != nullptr ? name : quoted(name);
}

namespace {

/// Reads sums. sum := ["-"] term (("+" | "-") term)*; term := factor ("*" factor)*
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Result<Dim> sum() {
    Dim out(0);
    bool negative = take('-');
    while (true) {
      OCTET_TRY(add_term(out, negative));
      negative = take('-');
      if (!negative && !take('+')) return out;
    }
  }
  Error unexpected(std::string_view wanted) const {
    if (at_ >= text_.size())
      return error("dimension \"{}\" ends where {} should stand; complete it", text_, wanted);
    return error("dimension \"{}\" has '{}' at {} where {} should stand; write it like N, "
                 "2*batch, seq + 2 or floor((H + 1)/2)",
                 text_, text_[at_], at_, wanted);
  }

 private:
  /// A product as it is read.
  struct Term {
    uint64_t factor = 1; // -2^63 is read as well
    Dim symbols{1};
    size_t degree = 0;
  };

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
  }
  Status add_term(Dim& out, bool negative) {
    Term term;
    do {
      OCTET_TRY(factor(term));
    } while (take('*'));
    int64_t factor = 0;
    const __int128 wide = negative ? -static_cast<__int128>(term.factor) : term.factor;
    const bool fits = !__builtin_add_overflow(wide, 0, &factor);
    out = fits ? out + term.symbols * Dim(factor) : Dim();
    if (out.is_known()) return ok_status();
    return error("dimension \"{}\" has too many terms or too large a number; simplify it", text_);
  }
  /// factor := integer | identifier | "quoted name" | quotient
  Status factor(Term& out) {
    skip_space();
    if (at_ >= text_.size()) return unexpected("a number or a symbol");
    const char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return number(out.factor);
    if (is_name_start(c)) {
      const size_t begin = at_;
      while (at_ < text_.size() && is_name_part(text_[at_]))
        ++at_;
      const std::string_view word = text_.substr(begin, at_ - begin);
      const bool divides = word == "floor" && take('(');
      out.symbols =
          out.symbols * (divides ? OCTET_TRY(quotient()) : Dim::symbol(std::string(word)));
    } else if (c == '"') {
      out.symbols = out.symbols * Dim::symbol(OCTET_TRY(quoted_name()));
    } else {
      return unexpected("a number or a symbol");
    }
    if (++out.degree > kMaxDegree) {
      return error("dimension \"{}\" multiplies more than {} symbols; simplify it", text_,
                   kMaxDegree);
    }
    return ok_status();
  }
  /// What stands behind "floor(": (sum)/integer) or term/integer).
  Result<Dim> quotient() {
    if (++depth_ > kMaxNested)
      return error("dimension \"{}\" nests more than {} quotients; simplify it", text_, kMaxNested);
    Dim dividend(0);
    if (take('(')) {
      dividend = OCTET_TRY(sum());
      if (!take(')')) return unexpected("an operator or ')'");
    } else {
      OCTET_TRY(add_term(dividend, take('-')));
    }
    if (!take('/')) return unexpected("'/'");
    skip_space();
    if (at_ >= text_.size() || std::isdigit(static_cast<unsigned char>(text_[at_])) == 0)
      return unexpected("a number");
    uint64_t divisor = 1;
    OCTET_TRY(number(divisor));
    if (!take(')')) return unexpected("')'");
    --depth_;
    const Dim out = divisor > 0 && divisor <= INT64_MAX
                        ? floor_divide(dividend, static_cast<int64_t>(divisor))
                        : Dim();
    if (out.is_known()) return out;
    return error("dimension \"{}\" divides by {} or is too long; simplify it", text_, divisor);
  }
  Status number(uint64_t& factor) {
    uint64_t value = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; ++at_) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, static_cast<unsigned>(text_[at_] - '0'), &value)) {
        return too_large();
      }
    }
    if (__builtin_mul_overflow(factor, value, &factor)) return too_large();
    return ok_status();
  }
  Result<std::string> quoted_name() {
    std::string name;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) name += text_[at_];
    }
    if (at_ >= text_.size())
      return error("dimension \"{}\" has a quoted name without its closing quote; add it", text_);
    ++at_;
    if (name.empty()) return error("dimension \"{}\" has an empty name; name the symbol", text_);
    return name;
  }
  Error too_large() const {
    return error("dimension \"{}\" has a number above 2^64 - 1; use a smaller one", text_);
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

} // namespace

Dim Dim::symbol(std::string name) {
  Dim out;
  if (name.empty()) return out;
  out.known_ = true;
  out.terms_[{Symbol{std::move(name)}}] = 1;
  return out;
}

std::optional<std::string> Dim::symbol_name() const {
  if (!known_ || constant_ != 0 || terms_.size() != 1) return std::nullopt;
  const auto& [symbols, factor] = *terms_.begin();
  if (factor != 1 || symbols.size() != 1 || symbols[0].quotient != nullptr) return std::nullopt;
  return symbols[0].name;
}

bool Dim::is_never_negative() const {
  const auto symbol_is = [](const Symbol& s) {
    return s.quotient == nullptr || s.quotient->dividend.is_never_negative();
  };
  return known_ && constant_ >= 0 && std::all_of(terms_.begin(), terms_.end(), [&](const auto& t) {
           return t.second >= 0 && std::all_of(t.first.begin(), t.first.end(), symbol_is);
         });
}

void Dim::add_term(const Monomial& symbols, int64_t factor) {
  if (!known_) return;
  int64_t& total = symbols.empty() ? constant_ : terms_[symbols];
  const bool overflow = __builtin_add_overflow(total, factor, &total);
  if (!symbols.empty() && total == 0) terms_.erase(symbols);
  if (overflow || symbols.size() > kMaxDegree || terms_.size() > kMaxTerms) *this = Dim();
}

Dim operator+(const Dim& a, const Dim& b) {
  if (!a.known_ || !b.known_) return {};
  Dim out = a;
  out.add_term({}, b.constant_);
  for (const auto& [symbols, factor] : b.terms_)
    out.add_term(symbols, factor);
  return out;
}

Dim operator-(const Dim& a, const Dim& b) {
  return a + b * Dim(-1);
}

Dim operator*(const Dim& a, const Dim& b) {
  if (!a.known_ || !b.known_) return {};
  Dim out(0);
  const auto multiply = [&](const Dim::Monomial& x, int64_t p, const Dim::Monomial& y, int64_t q) {
    int64_t factor = 0;
    if (__builtin_mul_overflow(p, q, &factor)) {
      out = Dim();
    } else if (factor != 0) {
      Dim::Monomial symbols;
      std::merge(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(symbols));
      out.add_term(symbols, factor);
    }
  };
  const auto multiply_by = [&](const Dim::Monomial& x, int64_t p) {
    multiply(x, p, {}, b.constant_);
    for (const auto& [y, q] : b.terms_)
      multiply(x, p, y, q);
  };
  multiply_by({}, a.constant_);
  for (const auto& [x, p] : a.terms_)
    multiply_by(x, p);
  return out;
}

Dim operator/(const Dim& a, const Dim& b) {
  if (!a.known_ || !b.known_) return {};
  if (b.is_constant() && b.constant_ == 0) return {};
  // Long division. The leading term is the longest monomial, then the last by name: an order that
  // products respect, so the leading terms of an exact quotient divide one another.
  const auto leading = [](const Dim& dim) {
    std::pair<Dim::Monomial, int64_t> best = {{}, dim.constant_};
    for (const auto& term : dim.terms_) {
      const bool longer = term.first.size() > best.first.size();
      if (longer || (term.first.size() == best.first.size() && term.first > best.first))
        best = term;
    }
    return best;
  };
  const auto [divisor, divisor_factor] = leading(b);
  Dim rest = a;
  Dim out(0);
  for (size_t step = 0; step <= kMaxTerms * kMaxDegree; ++step) {
    if (rest == Dim(0)) return out;
    const auto [symbols, factor] = leading(rest);
    if (!std::includes(symbols.begin(), symbols.end(), divisor.begin(), divisor.end())) return {};
    const std::optional<int64_t> quotient = exact_quotient(factor, divisor_factor);
    if (!quotient) return {};
    Dim::Monomial left;
    std::set_difference(symbols.begin(), symbols.end(), divisor.begin(), divisor.end(),
                        std::back_inserter(left));
    Dim term(0);
    term.add_term(left, *quotient);
    out = out + term;
    rest = rest - term * b;
    if (!rest.known_ || !out.known_) return {};
  }
  return {};
}

Dim floor_divide(const Dim& a, int64_t divisor) {
  if (!a.known_ || divisor < 1) return {};
  // What divides leaves the quotient: floor((n*x + y)/n) is x + floor(y/n).
  Dim whole(floor_quotient(a.constant_, divisor));
  Dim rest(floor_rest(a.constant_, divisor));
  int64_t common = divisor;
  for (const auto& [symbols, factor] : a.terms_) {
    const int64_t out = floor_quotient(factor, divisor);
    const int64_t left = floor_rest(factor, divisor);
    if (out != 0) whole.add_term(symbols, out);
    if (left != 0) rest.add_term(symbols, left);
    common = std::gcd(common, left);
  }
  if (rest.is_constant()) return whole;
  if (common > 1) {
    // floor((g*x + c)/(g*n)) is floor((x + floor(c/g))/n).
    Dim reduced(rest.constant_ / common);
    for (const auto& [symbols, factor] : rest.terms_)
      reduced.add_term(symbols, factor / common);
    return whole + floor_divide(reduced, divisor / common);
  }
  // Of quotients among the terms one alone goes: floor((floor(x/m) + y)/n) is floor((x + y*m)/(m*n)).
  const auto alone = [](const auto& term) {
    return term.second == 1 && term.first.size() == 1 && term.first[0].quotient != nullptr;
  };
  if (std::count_if(rest.terms_.begin(), rest.terms_.end(), alone) == 1) {
    const Dim::Monomial inner = std::find_if(rest.terms_.begin(), rest.terms_.end(), alone)->first;
    const Dim::Quotient& quotient = *inner[0].quotient;
    int64_t both = 0;
    if (__builtin_mul_overflow(quotient.divisor, divisor, &both)) return {};
    rest.add_term(inner, -1);
    return whole + floor_divide(quotient.dividend + rest * Dim(quotient.divisor), both);
  }
  const std::string dividend = rest.text();
  const bool sum = rest.constant_ != 0 || rest.terms_.size() > 1;
  std::string text =
      "floor(" + (sum ? "(" + dividend + ")" : dividend) + "/" + std::to_string(divisor) + ")";
  if (text.size() > kMaxQuotientText) return {};
  whole.add_term(
      {{std::move(text), std::make_shared<const Dim::Quotient>(Dim::Quotient{rest, divisor})}}, 1);
  return whole;
}

Dim ceil_divide(const Dim& a, int64_t divisor) {
  return floor_divide(a + Dim(divisor) - Dim(1), divisor);
}

bool operator==(const Dim& a, const Dim& b) {
  return a.known_ && b.known_ && a.constant_ == b.constant_ && a.terms_ == b.terms_;
}

Result<int64_t> Dim::evaluate(const std::map<std::string, int64_t>& symbols) const {
  if (!known_) return error("an unknown dimension has no value; give the model's input shapes");
  int64_t total = constant_;
  for (const auto& [monomial, factor] : terms_) {
    int64_t product = factor;
    for (const Symbol& symbol : monomial) {
      int64_t value = 0;
      if (symbol.quotient != nullptr) {
        value = floor_quotient(OCTET_TRY(symbol.quotient->dividend.evaluate(symbols)),
                               symbol.quotient->divisor);
      } else if (const auto found = symbols.find(symbol.name); found != symbols.end()) {
        value = found->second;
      } else {
        return error("dimension {} needs a value for the symbol \"{}\"; give one", text(),
                     symbol.name);
      }
      if (__builtin_mul_overflow(product, value, &product))
        return error("dimension {} is above 2^63 - 1; use smaller sizes", text());
    }
    if (__builtin_add_overflow(total, product, &total))
      return error("dimension {} is above 2^63 - 1; use smaller sizes", text());
  }
  return total;
}

std::string Dim::text() const {
  if (!known_) return "?";
  std::string out;
  const auto append = [&](const std::string& product, bool negative) {
    if (out.empty()) {
      out = (negative ? "-" : "") + product;
    } else {
      out += (negative ? " - " : " + ") + product;
    }
  };
  for (const auto& [monomial, factor] : terms_) {
    const bool negative = factor < 0;
    const uint64_t size = magnitude_of(factor);
    std::string product;
    for (const Symbol& symbol : monomial)
      product += (product.empty() ? "" : "*") + symbol.text();
    if (size != 1) product += "*" + std::to_string(size);
    append(product, negative);
  }
  if (constant_ != 0 || out.empty()) {
    append(std::to_string(magnitude_of(constant_)), constant_ < 0);
  }
  return out;
}

Result<Dim> Dim::parse(std::string_view text) {
  if (text.size() > kMaxText) {
    return error("a dimension of {} characters is above the limit of {}; shorten it", text.size(),
                 kMaxText);
  }
  DimParser parser(text);
  if (parser.take('?')) {
    if (!parser.at_end()) return parser.unexpected("the end");
    return Dim();
  }
  Dim out = OCTET_TRY(parser.sum());
  if (!parser.at_end()) return parser.unexpected("an operator");
  return out;
}

} // namespace octet
