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

  /// Draws with rate and time left, both counted from the first call, since a resumed run starts in
  /// the middle; at most ten times a second. Where stderr is no terminal, a line for each tenth of
  /// the way and each minute, none in the first five seconds. `total` 0: not known.
  void update(int64_t done, int64_t total, std::string_view note = {});
  /// A line that stays, above the bar.
  void line(std::string_view text);
  /// Clears the bar and starts counting again.
  void restart(std::string stage);

 private:
  void draw(int64_t done, int64_t total, std::string_view note);
  /// `, 3 min 05 s left`, or nothing where that is not known.
  std::string time_left(int64_t done, int64_t total) const;

  std::string stage_, unit_;
  bool terminal_;
  bool drawn_ = false;
  int last_tenth_ = 0;
  int64_t first_done_ = -1; ///< -1 before the first update
  std::chrono::steady_clock::time_point begin_, last_;
};

/// For figures of time.
double milliseconds(std::chrono::steady_clock::duration d);
/// `3.4 s`, `2 min 05 s`, `1 h 12 min`.
std::string duration_text(double seconds);
/// `1.2 MB`.
std::string bytes_text(int64_t bytes);

} // namespace octet::cli
