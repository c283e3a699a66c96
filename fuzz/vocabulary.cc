// SPDX-License-Identifier: Apache-2.0
// vocab.txt: whatever the bytes are, a tokenizer or an error comes out. What loads encodes the file
// itself into ids of its own.
#include <cstdlib>

#include "replay/seeds.h"
#include "text/model.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nab\n##b\n##ba\n",
          "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\né", "[UNK]\n[UNK]\n"};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  octet::Result<octet::text::Description> description =
      octet::text::parse_vocabulary(content, "input");
  if (!description.ok()) return 0;
  const octet::Result<octet::Tokenizer> tokenizer = octet::text::build(std::move(*description));
  if (!tokenizer.ok()) return 0;
  for (const int32_t id : tokenizer->encode(content).ids)
    if (id < 0 || id >= tokenizer->size()) std::abort();
  return 0;
}
