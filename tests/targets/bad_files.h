// SPDX-License-Identifier: Apache-2.0
// Files that TensorRT refuses or misreads, one for each rule of docs/targets.md section 1 and for
// each repair, with what check has to say of them and what their repair may cost.
#pragma once

#include <span>
#include <string>

#include "octet/graph.h"
#include "octet/repair.h"

namespace octet::test {

struct BadFile {
  const char* name;
  const char* body;   ///< between the header and the output
  const char* rule;   ///< the finding that refuses it
  const char* repair; ///< a change that has to be among those made
  /// Largest difference of the output before and after, on any input. 0: every bit stays.
  double error = 0;
  int opset = 17;
  const char* target = "tensorrt-10";
  bool needs_data = false;  ///< cannot be repaired without
  bool valid_before = true; ///< the reference can run the file as it came
  ZeroPointForm zero_points = ZeroPointForm::kShift;
};

std::span<const BadFile> bad_files();
/// x: f32[2, 4] (image: f32[1, 2, 4, 4]) to y; s 0.1, s4 and z, z4, w, w8 as constants.
Graph parse_bad_file(const BadFile& file);

} // namespace octet::test
