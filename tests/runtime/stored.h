// SPDX-License-Identifier: Apache-2.0
// A model that runs from its weight store.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/cpu.h"
#include <gtest/gtest.h>
#include <unistd.h>

#include "octet/onnx.h"
#include "octet/pack.h"
#include "octet/session.h"

namespace octet::test {

/// A folder of its own, gone at the end of its scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "octet-store-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// The model's file and its store in a folder.
struct StoredFiles {
  TemporaryFolder folder;
  std::string model = folder / "model.onnx", pack = folder / "model.octetpack";

  StoredFiles(const Graph& graph, Isa isa) {
    const Status saved = save_onnx(graph, model);
    EXPECT_TRUE(saved.ok()) << saved.error().text();
    const auto made = pack_model(model, {}, {.isa = std::string(isa_name(isa))});
    EXPECT_TRUE(made.ok()) << made.error().text();
  }
};

/// A session from the store has the bits of one that packs: also where only the store is there.
inline void expect_stored_bits(const Graph& graph,
                               const std::vector<Tensor>& inputs,
                               Isa isa,
                               int threads = 2) {
  SCOPED_TRACE(isa_name(isa));
  const SessionOptions options{.threads = threads, .isa = std::string(isa_name(isa))};
  auto packing = Session::create(graph, options);
  ASSERT_TRUE(packing.ok()) << packing.error().text();
  const auto want = packing->run(inputs);
  ASSERT_TRUE(want.ok()) << want.error().text();
  const StoredFiles files(graph, isa);
  for (const std::string& path : {files.model, files.pack}) {
    auto session = Session::open(path, options);
    ASSERT_TRUE(session.ok()) << session.error().text();
    EXPECT_EQ(session->pack(), files.pack) << session->pack_warning();
    const auto got = session->run(inputs);
    ASSERT_TRUE(got.ok()) << got.error().text();
    ASSERT_EQ(got->size(), want->size());
    for (size_t i = 0; i < want->size(); ++i)
      EXPECT_TRUE((*got)[i].identical((*want)[i])) << "output " << i;
    ASSERT_EQ(session->plan().size(), packing->plan().size());
    for (size_t i = 0; i < packing->plan().size(); ++i) {
      EXPECT_EQ(session->plan()[i].kernel, packing->plan()[i].kernel);
      EXPECT_EQ(session->plan()[i].node, packing->plan()[i].node);
      EXPECT_EQ(session->plan()[i].origin, packing->plan()[i].origin);
    }
    std::filesystem::remove(files.model);
  }
}

} // namespace octet::test
