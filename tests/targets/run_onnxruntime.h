// SPDX-License-Identifier: Apache-2.0
// Runs the models of a folder in ONNX Runtime.
#pragma once

#include <cstdio>
#include <string>

#include "support/paths.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace octet::test {

/// What tests/support/onnxruntime_forms.py prints for the folder; discarded where it is no JSON.
inline nlohmann::json run_onnxruntime(const std::string& folder) {
  const std::string source = source_dir();
  const std::string command = "'" + source + "/tools/setup-peers' --run '" + source +
                              "/tests/support/onnxruntime_forms.py' '" + folder + "'";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  for (size_t n = 0; pipe != nullptr && (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, n);
  EXPECT_EQ(pipe == nullptr ? -1 : pclose(pipe), 0) << "run tools/setup-peers once";
  return nlohmann::json::parse(text, nullptr, false);
}

} // namespace octet::test
