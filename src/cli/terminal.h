// SPDX-License-Identifier: Apache-2.0
// What people see while they wait: a bar on a terminal, plain lines otherwise, both on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace octet::cli {

class ProgressLine {
 public:
  explicit ProgressLine(std::string stage, std::string unit);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Draws with rate and time left; at most ten times a second, or once for each tenth of the way
  /// where stderr is no terminal. `total` 0: not known.
  void update(int64_t done, int64_t total, std::string_view note = {});
  /// A line that stays, above the bar.
  void line(std::string_view text);
  /// Clears the bar and starts counting again.
  void restart(std::string stage);

 private:
  void draw(int64_t done, int64_t total, std::string_view note);

  std::string stage_, unit_;
  bool terminal_;
  bool drawn_ = false;
  int last_tenth_ = 0;
  std::chrono::steady_clock::time_point begin_, last_;
};

/// For figures of time.
double milliseconds(std::chrono::steady_clock::duration d);
/// `3.4 s`, `2 min 05 s`, `1 h 12 min`.
std::string duration_text(double seconds);
/// `1.2 MB`.
std::string bytes_text(int64_t bytes);

} // namespace octet::cli
