// SPDX-License-Identifier: Apache-2.0
// Bytes as a weight store, also with hashes that hold: an error, or a model that runs and reads
// nothing but its own.
#include "runtime/weight_store.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "core/atomic_file.h"
#include "core/hash.h"
#include "replay/seeds.h"
#include "runtime/prepare.h"
#include "runtime/store_format.h"

namespace {

using namespace octet; // NOLINT(google-build-using-namespace)

/// Floats [N, 24], a product and a table of constants.
Graph model() {
  Graph g;
  g.opsets[""] = 17;
  const ValueId x = g.add_input("x", tensor_type(DType::kFloat32, Shape{2, 24}));
  Tensor w = Tensor::zeros(DType::kFloat32, {24, 50}).value();
  for (size_t i = 0; i < w.mutable_data<float>().size(); ++i)
    w.mutable_data<float>()[i] = static_cast<float>(i % 7) - 3;
  const ValueId y = g.emit("MatMul", {x, g.add_constant("w", w)}, {}, "product");
  g.mark_output(g.emit("Mul", {y, g.add_constant("scale", Tensor::scalar(0.5F))}, {}, "scaled"));
  return g;
}

std::string store_of(const Graph& graph, Isa isa) {
  const Graph ready = runtime::ready_graph(graph, {}).value();
  const auto recorder = std::make_shared<runtime::PackRecorder>();
  static_cast<void>(runtime::prepare_graph(ready, {.isa = isa, .store = recorder}).value());
  std::string path = (std::filesystem::temp_directory_path() / "octet-fuzz-XXXXXX").string();
  path = mkdtemp(path.data());
  const runtime::ModelFile file{.name = "model.onnx"};
  static_cast<void>(
      runtime::write_store({&ready, recorder.get(), isa, {file}}, path + "/pack", Overwrite::kNo)
          .value());
  std::string out = read_file(path + "/pack", size_t{1} << 30).value();
  std::filesystem::remove_all(path);
  return out;
}

/// Header and table with the hashes of what they hold.
std::string sealed(std::string bytes) {
  using namespace runtime; // NOLINT(google-build-using-namespace)
  if (bytes.size() < kHeaderBytes) return bytes;
  StoreHeader header;
  PackReader fields(std::string_view(bytes).substr(0, kHeaderBytes));
  header.read(fields);
  header.table_bytes = std::min<uint64_t>(header.table_bytes, bytes.size() - kHeaderBytes);
  header.table_hash = hash_bytes(std::string_view(bytes).substr(kHeaderBytes, header.table_bytes));
  header.file_bytes = bytes.size();
  return bytes.replace(0, kHeaderBytes, header_bytes(header));
}

void open(const std::string& bytes) {
  const std::shared_ptr<Buffer> copy = Buffer::allocate(bytes.size());
  std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), copy->writable());
  static int64_t origin = 0;
  const auto stored = runtime::StoredModel::read(copy, {++origin});
  if (!stored.ok() || !isa_supported(stored->isa())) return;
  static_cast<void>(stored->verify());
  static_cast<void>(
      runtime::prepare_graph(stored->graph(), {.isa = stored->isa(), .store = stored->packs()}));
}

} // namespace

namespace octet::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2})
    if (isa_supported(isa)) out.push_back(store_of(model(), isa));
  return out;
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  open(bytes);
  open(sealed(bytes));
  return 0;
}
