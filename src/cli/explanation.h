// SPDX-License-Identifier: Apache-2.0
// What explain and diff print of a file on a target.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

#include "octet/target.h"

namespace octet::cli {

struct Explanation {
  std::string target;
  std::vector<LayerForm> layers;
  int64_t errors = 0; ///< of check: with any the target refuses the file
};

Result<Explanation> explanation(const Graph& graph, const std::string& target);

/// Of 8 bits and less, beside int8.
inline constexpr std::array<LayerPrecision, 2> kOtherCodes = {LayerPrecision::kFp8,
                                                              LayerPrecision::kFp4};
/// "15.4 %", or "-" of a file that the target refuses.
std::string share_text(const Explanation& one, LayerPrecision precision);
/// "15.4 % of the multiply-adds in int8", and in the others where there are any.
std::string shares_text(const Explanation& one);
/// The line that says so; nothing where the file is accepted.
void print_refusal(const Explanation& one);

/// Prints the layers that run otherwise in the second file.
Result<Answer> show_changes(const std::string& before,
                            const std::string& after,
                            const std::string& target,
                            const Common& common);

} // namespace octet::cli
