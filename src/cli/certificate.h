// SPDX-License-Identifier: Apache-2.0
// What a safety case cites of one integer model: bounds, rules, operators, memory, and that results
// repeat.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

#include "octet/certify.h"

namespace octet::cli {

/// One run that was compared with the others.
struct RepeatedRun {
  std::string isa;
  int threads = 1;
  uint64_t outputs = 0; ///< hash of all of them
};

struct Certificate {
  std::string model;
  uint64_t graph = 0, lowered = 0; ///< hashes of the model and of what runs
  std::vector<CertifiedLayer> layers;
  std::vector<Unexamined> unexamined;
  struct Operator {
    std::string type, kernel;
    int64_t count = 0;
  };
  std::vector<Operator> operators; ///< of the lowered graph, with the kernels of this machine
  int64_t weight_bytes = 0;        ///< packed and as they are
  int64_t activation_bytes = 0;    ///< of one context, for the inputs that were run
  std::vector<std::string> inputs; ///< name, type and shape of each
  std::vector<RepeatedRun> runs;   ///< every instruction set of this machine, 1 and 2 threads

  bool repeats() const;
};

/// Runs the model on `inputs` with each instruction set that this machine has. Errors: as
/// Session::create and run.
Result<Certificate> make_certificate(const Graph& graph,
                                     const std::string& model,
                                     const Certification& certification,
                                     std::span<const Tensor> inputs);

/// As `path` ends: JSON, else an HTML page.
std::string certificate_text(const Certificate& certificate, const std::string& path);

} // namespace octet::cli
