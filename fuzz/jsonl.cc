// SPDX-License-Identifier: Apache-2.0
// JSON lines: whatever the bytes are, examples or an error come out.
#include "replay/seeds.h"
#include "text_rows.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {"{\"text\": \"a\", \"label\": 1}\n\n{\"label\": 0, \"text\": \"\\u00e9\"}\n",
          "{\"text\": \"a\", \"label\": \"x\", \"more\": [[{}]]}"};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const octet::TextFile file =
      octet::TextFile::from("input", std::string(reinterpret_cast<const char*>(data), size));
  octet::fuzz::read_all(file, octet::make_json_reader(file, {}));
  return 0;
}
