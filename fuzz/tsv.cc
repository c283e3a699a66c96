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
  using namespace octet; // NOLINT(google-build-using-namespace)
  const TextFile file =
      TextFile::from("input", std::string(reinterpret_cast<const char*>(data), size));
  RecordColumns columns;
  fuzz::read_all(file, make_table_reader(file, TableFormat::kTsv, Header::kYes, columns));
  columns.text = "2";
  columns.label = "1";
  fuzz::read_all(file, make_table_reader(file, TableFormat::kTsv, Header::kNo, columns));
  return 0;
}
