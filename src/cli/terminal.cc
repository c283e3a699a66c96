// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace octet::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr double kSecondsPerLine = 60;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace

double milliseconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string bytes_text(int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1000000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  if (bytes < 1000000000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) / 1e9);
}

ProgressLine::ProgressLine(std::string stage, std::string unit)
    : stage_(std::move(stage)), unit_(std::move(unit)), terminal_(isatty(STDERR_FILENO) != 0),
      begin_(std::chrono::steady_clock::now()), last_(begin_) {}

ProgressLine::~ProgressLine() {
  if (terminal_ && drawn_) fmt::print(stderr, "\r\033[K");
}

void ProgressLine::restart(std::string stage) {
  stage_ = std::move(stage);
  begin_ = last_ = std::chrono::steady_clock::now();
  last_tenth_ = 0;
  first_done_ = -1;
}

void ProgressLine::line(std::string_view text) {
  if (terminal_ && drawn_) fmt::print(stderr, "\r\033[K");
  fmt::print(stderr, "{}\n", text);
}

void ProgressLine::update(int64_t done, int64_t total, std::string_view note) {
  if (first_done_ < 0) {
    first_done_ = done;
    begin_ = last_ = std::chrono::steady_clock::now();
  }
  if (terminal_) {
    const bool last = total > 0 && done >= total;
    if (!last && drawn_ && seconds_since(last_) < 0.1) return;
    last_ = std::chrono::steady_clock::now();
    draw(done, total, note);
    return;
  }
  // Where nobody watches, short work says nothing and long work a line each tenth and each minute.
  const int tenth = total > 0 ? static_cast<int>(done * 10 / total) : 0;
  if (seconds_since(begin_) < 5) return;
  if (tenth == last_tenth_ && seconds_since(last_) < kSecondsPerLine) return;
  last_tenth_ = tenth;
  last_ = std::chrono::steady_clock::now();
  fmt::print(stderr, "{} {}{} {}{}{}{}\n", stage_, done, total > 0 ? fmt::format("/{}", total) : "",
             unit_, time_left(done, total), note.empty() ? "" : ", ", note);
}

std::string ProgressLine::time_left(int64_t done, int64_t total) const {
  if (done <= first_done_ || done >= total) return {};
  const double left = static_cast<double>(total - done) / static_cast<double>(done - first_done_);
  return ", " + duration_text(seconds_since(begin_) * left) + " left";
}

void ProgressLine::draw(int64_t done, int64_t total, std::string_view note) {
  drawn_ = true;
  const double seconds = seconds_since(begin_);
  const double rate = seconds > 0 ? static_cast<double>(done - first_done_) / seconds : 0;
  std::string bar;
  if (total > 0) {
    const auto filled = static_cast<int>(kBarWidth * done / total);
    for (int i = 0; i < kBarWidth; ++i)
      bar += i < filled ? "█" : "░";
  }
  fmt::print(stderr, "\r\033[K{} {} {}{} {}, {:.0f}/s{}{}{}", stage_, bar, done,
             total > 0 ? fmt::format("/{}", total) : "", unit_, rate, time_left(done, total),
             note.empty() ? "" : ", ", note);
  std::fflush(stderr);
}

} // namespace octet::cli
