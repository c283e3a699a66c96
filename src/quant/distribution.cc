// SPDX-License-Identifier: Apache-2.0
#include "quant/distribution.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/format.h"
#include "core/string_util.h"

namespace octet {
namespace {

constexpr double kMostReach = 1000, kMostDegrees = 1000;

template <class... Of>
struct Overloaded : Of... {
  using Of::operator()...;
};
template <class... Of>
Overloaded(Of...) -> Overloaded<Of...>;

Status check_reach(double reach) {
  if (reach > 0 && reach <= kMostReach) return ok_status();
  return error("reach is {}; it is above 0 and at most {}", reach, kMostReach);
}

} // namespace

std::string name(const Distribution& distribution) {
  return std::visit(
      Overloaded{
          [](const Uniform&) { return std::string("uniform"); },
          [](const Gaussian& g) { return fmt::format("gaussian:{}", g.reach); },
          [](const StudentT& t) { return fmt::format("student-t:{}:{}", t.degrees, t.reach); }},
      distribution);
}

Result<Distribution> parse_distribution(std::string_view text) {
  const std::vector<std::string_view> words = split(text, ':');
  std::vector<double> numbers;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::optional<double> number = decimal_number(words[i]);
    if (!number) return error("distribution \"{}\": \"{}\" is not a number", text, words[i]);
    numbers.push_back(*number);
  }
  const auto given = [&](size_t i, double otherwise) {
    return i < numbers.size() ? numbers[i] : otherwise;
  };
  const std::string_view word = words.front();
  Distribution out;
  size_t most = 0;
  if (word == "gaussian") {
    out = Gaussian{given(0, Gaussian{}.reach)};
    most = 1;
  } else if (word == "student-t") {
    out = StudentT{given(0, StudentT{}.degrees), given(1, StudentT{}.reach)};
    most = 2;
  } else if (word != "uniform") {
    return error("unknown distribution \"{}\"; there are uniform, gaussian[:reach], "
                 "student-t[:degrees[:reach]]",
                 text);
  }
  if (numbers.size() > most)
    return error("distribution \"{}\": {} numbers, at most {} expected", text, numbers.size(),
                 most);
  OCTET_TRY(check_distribution(out).with(fmt::format("distribution \"{}\"", text)));
  return out;
}

Status check_distribution(const Distribution& distribution) {
  if (const auto* gaussian = std::get_if<Gaussian>(&distribution))
    return check_reach(gaussian->reach);
  const auto* t = std::get_if<StudentT>(&distribution);
  if (t == nullptr) return ok_status();
  if (!(t->degrees >= 1 && t->degrees <= kMostDegrees))
    return error("degrees of freedom are {}; they are from 1 to {}", t->degrees, kMostDegrees);
  return check_reach(t->reach);
}

Density density_of(const Distribution& distribution) {
  return std::visit(Overloaded{[](const Uniform&) -> Density {
                                 return {[](double) { return 1.0; }, 1};
                               },
                               [](const Gaussian& g) -> Density {
                                 return {[](double x) { return std::exp(-x * x / 2); }, g.reach};
                               },
                               [](const StudentT& t) -> Density {
                                 return {[n = t.degrees](double x) {
                                           return std::pow(1 + x * x / n, -(n + 1) / 2);
                                         },
                                         t.reach};
                               }},
                    distribution);
}

double integral(const std::function<double(double)>& f, double a, double b) {
  // Abramowitz and Stegun, table 25.4, n = 8.
  constexpr std::array<std::array<double, 2>, 4> kPoints = {
      {{0.183434642495650, 0.362683783378362},
       {0.525532409916329, 0.313706645877887},
       {0.796666477413627, 0.222381034453374},
       {0.960289856497536, 0.101228536290376}}};
  constexpr double kPiece = 0.5, kShare = 0.1;
  double sum = 0;
  for (double low = a; low < b;) {
    const double high = std::min(b, low + std::max(kPiece, kShare * low));
    const double middle = (low + high) / 2, half = (high - low) / 2;
    for (const auto& [at, weight] : kPoints)
      sum += half * weight * (f(middle - half * at) + f(middle + half * at));
    low = high;
  }
  return sum;
}

} // namespace octet
