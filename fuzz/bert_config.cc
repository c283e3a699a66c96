// SPDX-License-Identifier: Apache-2.0
// config.json of a BERT: whatever the bytes are, options that fit each other or an error come out.
#include "models/bert_config.h"

#include "replay/seeds.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  BertOptions bert;
  bert.head = BertHead::kClassification;
  BertOptions distil;
  distil.family = BertFamily::kDistilBert;
  distil.type_vocabulary = 0;
  distil.activation = BertActivation::kRelu;
  return {bert_config_json(bert), bert_config_json(distil)};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto options = octet::parse_bert_config(text);
  if (options.ok())
    static_cast<void>(octet::parse_bert_config(octet::bert_config_json(*options)).value());
  return 0;
}
