// SPDX-License-Identifier: Apache-2.0
// How much memory something takes.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

namespace octet::test {

/// Whether the tests run under a sanitizer that keeps what is freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

/// Bytes that malloc has given out and not taken back.
inline int64_t live_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

/// A field of /proc/self/status in bytes: VmRSS, VmHWM.
inline int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
  return -1;
}

/// How far `fn` raises the peak of resident memory. It runs in a child process, whose peak is its
/// own, and returns whether it did its work; -1 if it did not.
template <class Fn>
int64_t peak_growth(const Fn& fn) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  malloc_trim(0); // what others left would hide what is taken; the child's peak begins with it
  const pid_t child = fork();
  if (child == 0) {
    const int64_t before = status_bytes("VmRSS");
    const bool done = fn();
    const int64_t growth = status_bytes("VmHWM") - before;
    const bool told = write(ends[1], &growth, sizeof growth) == sizeof growth;
    _exit(done && told ? 0 : 1);
  }
  close(ends[1]);
  int64_t growth = -1;
  const bool heard = child > 0 && read(ends[0], &growth, sizeof growth) == sizeof growth;
  close(ends[0]);
  int state = 1;
  if (child > 0) waitpid(child, &state, 0);
  return heard && state == 0 ? growth : -1;
}

} // namespace octet::test
