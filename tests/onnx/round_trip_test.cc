// SPDX-License-Identifier: Apache-2.0
// What was read and written reads back as the same graph and is written as the same bytes.
// compare_protos.py compares the same files with the originals by the onnx package.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/backend.h"
#include <gtest/gtest.h>

#include "octet/onnx.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const Buffer> buffer_of(const std::string& bytes) {
  return Buffer::borrow(std::as_bytes(std::span<const char>(bytes)));
}

/// Reads, writes, reads and writes; `keep`, if not empty, gets the first result.
void round_trip(const std::string& path, const fs::path& keep) {
  const Result<Graph> first = load_onnx(path);
  ASSERT_TRUE(first.ok()) << first.error().text();
  const Result<std::string> written = serialize_onnx(*first);
  ASSERT_TRUE(written.ok()) << path << ": " << written.error().text();
  const Result<Graph> second = parse_onnx(buffer_of(*written));
  ASSERT_TRUE(second.ok()) << path << ": " << second.error().text();
  EXPECT_EQ(first->content_hash(), second->content_hash()) << path;
  const Result<std::string> again = serialize_onnx(*second);
  ASSERT_TRUE(again.ok()) << path << ": " << again.error().text();
  EXPECT_TRUE(*written == *again) << path << ": written twice, bytes differ";
  if (keep.empty()) return;
  fs::create_directories(keep.parent_path());
  std::ofstream(keep, std::ios::binary) << *written;
}

/// compare_protos.py sets OCTET_ROUND_TRIP to a folder: results go there, and models that it put
/// into made/ of it are read as well.
TEST(RoundTrip, EveryModelReadsBackEqual) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  const char* set = std::getenv("OCTET_ROUND_TRIP");
  const fs::path folder = set == nullptr ? "" : set;
  for (const test::BackendCase& c : test::backend_cases())
    round_trip(c.model(), set == nullptr ? "" : folder / "written" / c.group / (c.name + ".onnx"));
  if (set == nullptr) return;
  for (const auto& entry : fs::directory_iterator(folder / "made"))
    if (entry.path().extension() == ".onnx")
      round_trip(entry.path(), folder / "written" / "made" / entry.path().filename());
}

TEST(RoundTrip, EveryTensorFileReadsBackEqual) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  size_t tensors = 0;
  for (const test::BackendCase& c : test::backend_cases()) {
    for (const std::string& data_set : c.data_sets) {
      for (const std::string& file : test::BackendCase::files(data_set, "output")) {
        const Result<NamedTensor> first = read_tensor_proto(file);
        if (!first.ok()) continue; // sequences and optionals
        const std::string bytes = serialize_tensor_proto(*first);
        const Result<NamedTensor> second = parse_tensor_proto(buffer_of(bytes));
        ASSERT_TRUE(second.ok()) << file << ": " << second.error().text();
        EXPECT_EQ(first->name, second->name);
        EXPECT_TRUE(first->tensor.identical(second->tensor)) << file;
        ++tensors;
      }
    }
  }
  EXPECT_GE(tensors, 1800u);
}

} // namespace
} // namespace octet
