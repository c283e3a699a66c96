// SPDX-License-Identifier: Apache-2.0
// ONNX's own backend tests: models with inputs and expected outputs that others computed.
#pragma once

#include <string>
#include <vector>

namespace octet::test {

struct BackendCase {
  std::string group;  ///< "node", "simple", "light", "pytorch-operator", "pytorch-converted"
  std::string name;   ///< "test_add_bcast"
  std::string folder; ///< absolute
  /// Folders with input_<i>.pb and output_<i>.pb, in order.
  std::vector<std::string> data_sets;

  std::string model() const { return folder + "/model.onnx"; }
  /// Files of one data set, in the order of their numbers; `kind` is "input" or "output".
  static std::vector<std::string> files(const std::string& data_set, const std::string& kind);
};

/// Every case, sorted by group and name; unpacked into the build folder on first use. Empty where
/// there is no archive: `backend_missing()` then says why, and a test that needs the cases must
/// GTEST_SKIP() with that text.
const std::vector<BackendCase>& backend_cases();
const std::string& backend_missing();

/// The folder with other people's data: OCTET_DATA, or ../shared/data beside the source tree.
std::string data_dir();

} // namespace octet::test
