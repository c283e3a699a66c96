// SPDX-License-Identifier: Apache-2.0
#include "core/string_util.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace octet {
namespace {

constexpr size_t kLongestCompared = 256;
constexpr size_t kLongestShown = 60; // of one part of a list in a message
constexpr size_t kMostSuggested = 64;

} // namespace

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table (optimal string alignment).
  std::vector<int> before(b.size() + 1);
  std::vector<int> last(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<std::string> nearest_match(std::string_view text,
                                         std::span<const std::string> names) {
  std::optional<std::string> best;
  int best_distance = 0;
  if (text.empty() || text.size() > kLongestCompared) return best;
  const std::string wanted = lowered(text);
  for (const std::string& name : names) {
    if (name.size() > kLongestCompared) continue;
    const int distance = edit_distance(wanted, lowered(name));
    const auto longer = static_cast<int>(std::max(text.size(), name.size()));
    if (distance * 3 > longer || (best && distance >= best_distance)) continue;
    best = name;
    best_distance = distance;
  }
  return best;
}

std::string suggestion(std::string_view text, std::span<const std::string> names) {
  if (const auto match = nearest_match(text, names)) return "; did you mean \"" + *match + "\"?";
  if (names.empty()) return "";
  return "; known are " + join_some(names, kMostSuggested);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != separator) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string counted(int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string join_some(std::span<const std::string> parts, size_t most) {
  std::vector<std::string> shown;
  for (const std::string& part : parts.first(std::min(parts.size(), most))) {
    shown.push_back(part.substr(0, kLongestShown));
    if (part.size() > kLongestShown) shown.back() += "...";
  }
  const std::string text = join(shown, ", ");
  if (parts.size() <= most) return text;
  return text + " and " + std::to_string(parts.size() - most) + " more";
}

int64_t whole_number(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  return failure == std::errc() && stop == end && value > 0 ? value : 0;
}

std::optional<double> decimal_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  // Greedy with one point to come back to: linear in practice, never exponential.
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

} // namespace octet
