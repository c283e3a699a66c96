// SPDX-License-Identifier: Apache-2.0
// Weight stores that do not fit or are damaged: the model is packed again and a warning says why;
// whatever the bytes are, kernels read nothing that is not theirs.
#include <fstream>

#include "core/atomic_file.h"
#include "core/cpu.h"
#include "core/hash.h"
#include "core/philox.h"
#include "runtime/layer_net.h"
#include "runtime/prepare.h"
#include "runtime/store_format.h"
#include "runtime/stored.h"
#include "runtime/weight_store.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::LayerNet;
using test::StoredFiles;
using test::TemporaryFolder;

/// A convolution and products, of floats and of codes, with packs of every kind.
Graph small_model(uint64_t seed = 3) {
  LayerNet net(seed);
  const ValueId x = net.input({1, 16, 5, 6});
  Attributes pads;
  pads["pads"].value = std::vector<int64_t>{1, 1, 1, 1};
  Attributes depthwise = pads;
  depthwise["group"].value = int64_t{16};
  ValueId y = net.codes(x, {});
  y = net.codes(net.op("Conv", {y, net.weights({16, 16, 3, 3}, 0.01F)}, pads), {.scale = 0.1F});
  y = net.codes(net.op("Conv", {y, net.weights({16, 1, 3, 3}, 0.01F)}, depthwise), {.scale = 0.1F});
  y = net.op("Conv", {y, net.constant(net.random_tensor({16, 1, 3, 3}, 1))}, depthwise);
  y = net.op("ConvTranspose", {y, net.constant(net.random_tensor({16, 12, 3, 3}, 1))}, pads);
  y = net.op("Reshape", {y, net.constant(Tensor::of<int64_t>({2}, {30, 12}))});
  y = net.op("MatMul", {y, net.constant(net.random_tensor({12, 40}, 1))});
  return net.done({y});
}

const Shape kInput = {1, 16, 5, 6};

std::vector<Tensor> small_inputs() {
  return {LayerNet(9).random_tensor(kInput)};
}

std::string content_of(const std::string& path) {
  return read_file(path, size_t{1} << 30).value();
}

void replace_file(const std::string& path, std::string_view bytes) {
  ASSERT_TRUE(write_file(path, bytes, Overwrite::kYes).ok());
}

/// Header and table hold their hashes again, so that what reads them looks further.
void seal(std::string& bytes) {
  runtime::StoreHeader header;
  runtime::PackReader fields(std::string_view(bytes).substr(0, runtime::kHeaderBytes));
  header.read(fields);
  if (header.table_offset > bytes.size() || header.table_bytes > bytes.size() - header.table_offset)
    return;
  header.table_hash =
      hash_bytes(std::string_view(bytes).substr(header.table_offset, header.table_bytes));
  bytes.replace(0, runtime::kHeaderBytes, runtime::header_bytes(header));
}

/// As Session::open does with a store alone, in memory of just its size. Whether it ran.
bool runs(const std::string& bytes) {
  const std::shared_ptr<Buffer> copy = Buffer::allocate(bytes.size());
  std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), copy->writable());
  static std::atomic<int64_t> origin = 0;
  const auto stored = runtime::StoredModel::read(copy, {-1, ++origin});
  if (!stored.ok() || !isa_supported(stored->isa())) return false;
  static_cast<void>(stored->verify());
  const TemporaryFolder folder;
  replace_file(folder / "model.octetpack", bytes);
  auto session = Session::open(folder / "model.octetpack", {.threads = 1});
  return session.ok() && session->run(small_inputs()).ok();
}

TEST(StoreFaults, AnotherModelIsPackedAgain) {
  const StoredFiles files(small_model(), default_isa());
  ASSERT_TRUE(save_onnx(small_model(4), files.model, {.overwrite = true}).ok());
  Session session = Session::open(files.model).value();
  EXPECT_EQ(session.pack(), "");
  EXPECT_NE(session.pack_warning().find("is not what it was made of"), std::string::npos);
  EXPECT_NE(session.pack_warning().find("octet pack " + files.model), std::string::npos);
  Session fresh = Session::create(small_model(4)).value();
  EXPECT_TRUE(
      session.run(small_inputs()).value()[0].identical(fresh.run(small_inputs()).value()[0]));
  // The store by its own name: its model lies beside it, and is another.
  EXPECT_EQ(Session::open(files.pack).value().pack(), "");
}

TEST(StoreFaults, ACopyOfTheModelIsTheModel) {
  const StoredFiles files(small_model(), default_isa());
  fs::last_write_time(files.model, fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(Session::open(files.model).value().pack(), files.pack);
}

TEST(StoreFaults, ExternalDataBelongsToTheModel) {
  const TemporaryFolder folder;
  const std::string model = folder / "model.onnx";
  SaveOptions options{.external = SaveOptions::External::kAlways};
  ASSERT_TRUE(save_onnx(small_model(), model, options).ok());
  ASSERT_TRUE(pack_model(model).ok());
  EXPECT_NE(Session::open(model).value().pack(), "");
  std::string data = content_of(model + ".data");
  data[100] = static_cast<char>(data[100] ^ 1);
  replace_file(model + ".data", data);
  EXPECT_NE(Session::open(model).value().pack_warning().find(".data is not what it was made of"),
            std::string::npos);
}

TEST(StoreFaults, OptionsOfASession) {
  const StoredFiles files(small_model(), default_isa());
  for (const SessionOptions& options :
       {SessionOptions{.keep_weights = true}, SessionOptions{.integer = false},
        SessionOptions{.isa = "scalar"}}) {
    const auto session = Session::open(files.model, options);
    ASSERT_TRUE(session.ok()) << session.error().text();
    EXPECT_EQ(session->pack(), "");
    EXPECT_NE(session->pack_warning(), "");
  }
  fs::remove(files.model);
  const auto alone = Session::open(files.pack, {.isa = "scalar"});
  ASSERT_FALSE(alone.ok());
  EXPECT_NE(alone.error().text().find("this session is of scalar"), std::string::npos);
}

TEST(StoreFaults, NoSuchFile) {
  const TemporaryFolder folder;
  for (const char* name : {"none.onnx", "none.octetpack"})
    EXPECT_FALSE(Session::open(folder / name).ok());
  EXPECT_FALSE(pack_model(folder / "none.onnx").ok());
  EXPECT_FALSE(verify_pack(folder / "none.octetpack").ok());
}

TEST(StoreFaults, VerifyingLooksAtZerosBetweenWeights) {
  const StoredFiles files(small_model(), default_isa());
  ASSERT_TRUE(verify_pack(files.pack).ok());
  std::string bytes = content_of(files.pack);
  bytes.back() = 1; // of the zeros behind the last section, which kernels may read
  replace_file(files.pack, bytes);
  const auto found = verify_pack(files.pack);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().text().find("damaged"), std::string::npos) << found.error().text();
}

TEST(StoreFaults, ExistingFilesAreKept) {
  const StoredFiles files(small_model(), default_isa());
  EXPECT_FALSE(pack_model(files.model).ok());
  EXPECT_TRUE(pack_model(files.model, {}, {.overwrite = true}).ok());
}

TEST(StoreFaults, CutAnywhere) {
  const StoredFiles files(small_model(), default_isa());
  const std::string whole = content_of(files.pack);
  for (size_t size = 0; size < whole.size(); size += size < 6000 ? 61 : 997) {
    std::string cut = whole.substr(0, size);
    EXPECT_FALSE(runs(cut)) << size;
    if (size < runtime::kHeaderBytes) continue;
    seal(cut);
    EXPECT_FALSE(runs(cut)) << size;
  }
}

/// What is always checked is found; of weights verify says so.
TEST(StoreFaults, FlippedAnywhere) {
  const StoredFiles files(small_model(), default_isa());
  const std::string whole = content_of(files.pack);
  runtime::StoreHeader header;
  runtime::PackReader fields(std::string_view(whole).substr(0, runtime::kHeaderBytes));
  header.read(fields);
  const size_t checked = header.table_offset + header.table_bytes;
  for (size_t at = 0; at < whole.size(); at += at < checked ? 13 : 251) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
    if (at < checked) {
      EXPECT_FALSE(runs(flipped)) << at;
    } else {
      runs(flipped);
    }
  }
}

/// With hashes that hold: an error or numbers, and nothing that a sanitizer finds.
TEST(StoreFaults, ForgedAnywhere) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, default_isa()}) {
    if (!isa_supported(isa)) continue;
    const StoredFiles files(small_model(), isa);
    const std::string whole = content_of(files.pack);
    runtime::StoreHeader header;
    runtime::PackReader fields(std::string_view(whole).substr(0, runtime::kHeaderBytes));
    header.read(fields);
    Philox random(isa.features);
    for (int i = 0; i < 400; ++i) {
      std::string forged = whole;
      const auto at = static_cast<size_t>(runtime::kHeaderBytes + random.below(header.table_bytes));
      forged[at] = static_cast<char>(random.below(2) == 0 ? forged[at] ^ (1 << random.below(8))
                                                          : random.below(256));
      seal(forged);
      const std::shared_ptr<Buffer> copy = Buffer::allocate(forged.size());
      std::copy_n(reinterpret_cast<const std::byte*>(forged.data()), forged.size(),
                  copy->writable());
      const auto stored =
          runtime::StoredModel::read(copy, {-2, static_cast<int64_t>(isa.features), i});
      if (!stored.ok() || !isa_supported(stored->isa())) continue;
      runs(forged);
    }
  }
}

} // namespace
} // namespace octet
