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
  using namespace octet; // NOLINT(google-build-using-namespace)
  const TextFile file =
      TextFile::from("input", std::string(reinterpret_cast<const char*>(data), size));
  RecordColumns columns;
  fuzz::read_all(file, make_table_reader(file, TableFormat::kCsv, Header::kYes, columns));
  columns.text = "2";
  columns.label = "1";
  fuzz::read_all(file, make_table_reader(file, TableFormat::kCsv, Header::kNo, columns));
  return 0;
}
