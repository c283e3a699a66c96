// SPDX-License-Identifier: Apache-2.0
// The page of octet debug with two models.
#pragma once

#include <string>

#include "quant/see/findings.h"

namespace octet {

/// A self-contained page: the layers by their damage, the tensors as histograms with the range of
/// their codes drawn in, the channels that stand out.
/// `origin` says how and where it was made.
std::string findings_page(const Findings& findings, const std::string& origin);

} // namespace octet
