// SPDX-License-Identifier: Apache-2.0
// Who can load a quantized file, and how much of it runs in 8 bits or fewer there.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "octet/quantize.h"
#include "octet/target.h"

namespace octet::cli {

struct Reader {
  std::string target;
  std::string refused_for;           ///< the rule of the first error; empty: it loads the file
  std::string command;               ///< what makes a file that it loads; empty: octet has no way
  double int8 = 0, fp8 = 0, fp4 = 0; ///< shares of the multiply-adds, 0 to 1
  bool has_products = false;
  bool rounds_inputs = false; ///< of float products with stored weights, where no setting says no
  size_t products = 0, saturating = 0; ///< of codes, where it adds them in int16 without VNNI
};

/// The target that the file was made for, and the newest of each other family. `written` is the
/// file's name.
Result<std::vector<Reader>>
readers_of(const Graph& graph, const std::string& target, const std::string& written);
/// A line for each: who refuses the file and what mends that, who computes in float what the file
/// has in 8 bits and what would help, who gives other numbers on another CPU.
std::string text(const std::vector<Reader>& readers, QuantMode mode);
nlohmann::ordered_json readers_json(const std::vector<Reader>& readers);

} // namespace octet::cli
