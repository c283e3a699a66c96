// SPDX-License-Identifier: Apache-2.0
// TSV files: whatever the bytes are, examples or an error come out.
#include "replay/seeds.h"
#include "text_rows.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {"text\tlabel\na b\tx\nc\ty\n", "1\tgood\r\n0\tbad"};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  octet::fuzz::read_table(data, size, octet::TableFormat::kTsv);
  return 0;
}
