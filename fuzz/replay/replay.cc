// SPDX-License-Identifier: Apache-2.0
// main() of the fuzz targets outside libFuzzer: runs every file of the corpus folder, every seed
// made in code, and a fixed number of mutations of each, chosen by a seeded generator so that every
// run does the same. usage: octet_fuzz_NAME FOLDER | octet_fuzz_NAME --write-seeds FOLDER
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "replay/seeds.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

constexpr int kMutationsPerInput = 300;
constexpr size_t kLargestMutated = 1 << 16;

void run_one(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::vector<std::string> read_corpus(const fs::path& folder) {
  std::vector<std::string> inputs;
  if (fs::is_directory(folder)) {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(folder))
      paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) {
      std::ifstream in(path, std::ios::binary);
      inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  }
  return inputs;
}

std::string
mutate(std::string input, const std::vector<std::string>& inputs, std::mt19937& random) {
  const int edits = 1 + static_cast<int>(random() % 4);
  for (int edit = 0; edit < edits && !input.empty(); ++edit) {
    const size_t at = random() % input.size();
    switch (random() % 7) {
    case 0:
      input[at] = static_cast<char>(input[at] ^ (1 << random() % 8));
      break;
    case 1:
      input[at] = static_cast<char>(random());
      break;
    case 2:
      input[at] = static_cast<char>(random() % 2 == 0 ? 0xff : 0x80);
      break;
    case 3:
      input.resize(at);
      break;
    case 4:
      input.erase(at, 1 + random() % 8);
      break;
    case 5:
      input.insert(at, input.substr(random() % input.size(), 1 + random() % 16));
      break;
    default: {
      const std::string& other = inputs[random() % inputs.size()];
      if (!other.empty()) input.replace(at, 16, other, random() % other.size(), 16);
    }
    }
  }
  return input;
}

int write_seeds(const std::vector<std::string>& inputs, const fs::path& folder) {
  fs::create_directories(folder);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::ofstream(folder / ("seed" + std::to_string(i)), std::ios::binary) << inputs[i];
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const bool writing = argc == 3 && std::string(argv[1]) == "--write-seeds";
  if (argc != 2 && !writing) {
    std::fprintf(stderr, "usage: %s FOLDER | %s --write-seeds FOLDER\n", argv[0], argv[0]);
    return 2;
  }
  std::vector<std::string> inputs;
  if (octet::fuzz::seeds != nullptr) inputs = octet::fuzz::seeds();
  if (writing) return write_seeds(inputs, argv[2]);
  for (std::string& input : read_corpus(argv[1]))
    inputs.push_back(std::move(input));
  if (inputs.empty()) {
    std::fprintf(stderr, "%s: no corpus in %s and no seeds\n", argv[0], argv[1]);
    return 1;
  }
  run_one("");
  std::mt19937 random(20240607);
  size_t runs = 1;
  for (const std::string& input : inputs) {
    run_one(input);
    ++runs;
    if (input.size() > kLargestMutated) continue;
    for (int i = 0; i < kMutationsPerInput; ++i, ++runs)
      run_one(mutate(input, inputs, random));
  }
  std::printf("%zu inputs, %zu runs\n", inputs.size(), runs);
  return 0;
}
