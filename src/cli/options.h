// SPDX-License-Identifier: Apache-2.0
// Options that CLI11 leaves too open: lists, counts and numbers within a range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace octet::cli {

/// Each occurrence of `name` adds its arguments to `to`, or their parts where `separator` stands in
/// them. CLI11 itself is to see one argument an occurrence (see `spread_lists`).
CLI::Option* add_list_option(CLI::App& app,
                             const char* name,
                             std::vector<std::string>& to,
                             const char* text,
                             char separator = '\0');
/// An argument without a name that may be given several times, and must be at least once.
void add_list_argument(CLI::App& app,
                       const char* name,
                       std::vector<std::string>& to,
                       const char* text);

/// `--input a b` becomes `--input a --input b`. What names a file at the end of such a list is left
/// to the command's arguments without a name where these have room, and the last of it where they
/// would lack one: `--input x=a.npy cnn.onnx` leaves the model.
std::vector<std::string> spread_lists(const std::vector<std::string>& arguments,
                                      const CLI::App& app);

struct CountRange {
  static constexpr int64_t kNoLimit = int64_t{1} << 40;
  int64_t least = 0, most = kNoLimit;
};

/// A whole number within a range; another one ends the command before it does anything.
CLI::Option* add_count_option(
    CLI::App& app, const char* name, int64_t& to, const char* text, CountRange range = {});
CLI::Option*
add_count_option(CLI::App& app, const char* name, int& to, const char* text, CountRange range = {});
/// The same of any number. Never nan, which is within no range.
CLI::Option* add_number_option(
    CLI::App& app, const char* name, double& to, const char* text, double least, double most);

} // namespace octet::cli
