// SPDX-License-Identifier: Apache-2.0
// CSV files: whatever the bytes are, examples or an error come out.
#include "replay/seeds.h"
#include "text_rows.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {"text,label\n\"a, \"\"b\"\"\n\",x\r\nc,y\n", "1,good\n0,\"bad\""};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  octet::fuzz::read_table(data, size, octet::TableFormat::kCsv);
  return 0;
}
