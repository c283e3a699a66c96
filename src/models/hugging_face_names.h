// SPDX-License-Identifier: Apache-2.0
// Names of weights in files of Hugging Face's models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "octet/bert.h"

namespace octet {

/// The name that a file of this family and head has for a parameter of our graph.
std::string hugging_face_name(std::string_view parameter, BertFamily family, BertHead head);

/// Every name that files in the wild have for it, the likeliest first: with and without the model's
/// prefix, and `gamma` and `beta` of layer normalizations converted from TensorFlow.
std::vector<std::string>
hugging_face_names(std::string_view parameter, BertFamily family, BertHead head);

} // namespace octet
