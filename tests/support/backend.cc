// SPDX-License-Identifier: Apache-2.0
#include "support/backend.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "support/paths.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

std::string unpack() {
  const std::string command = std::string("bash '") + source_dir() +
                              "/tests/support/unpack_backend_tests.sh' '" + build_dir() + "'";
  std::string folder;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  char chunk[512];
  while (std::fgets(chunk, sizeof(chunk), pipe) != nullptr)
    folder += chunk;
  const int status = pclose(pipe);
  while (!folder.empty() && folder.back() == '\n')
    folder.pop_back();
  return status == 0 ? folder : std::string{};
}

std::vector<std::string> subfolders(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.starts_with(prefix)) out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<BackendCase> find_cases() {
  std::vector<BackendCase> cases;
  const std::string root = unpack();
  if (root.empty()) return cases;
  for (const std::string& group : subfolders(root, "")) {
    for (const std::string& folder : subfolders(group, "")) {
      if (!fs::exists(folder + "/model.onnx")) continue;
      cases.push_back({fs::path(group).filename().string(), fs::path(folder).filename().string(),
                       folder, subfolders(folder, "test_data_set_")});
    }
  }
  return cases;
}

} // namespace

std::vector<std::string> BackendCase::files(const std::string& data_set, const std::string& kind) {
  std::vector<std::string> out;
  for (int i = 0;; ++i) {
    std::string path = data_set + "/" + kind + "_" + std::to_string(i) + ".pb";
    if (!fs::exists(path)) return out;
    out.push_back(std::move(path));
  }
}

const std::vector<BackendCase>& backend_cases() {
  static const std::vector<BackendCase> cases = find_cases();
  return cases;
}

const std::string& backend_missing() {
  static const std::string text =
      backend_cases().empty()
          ? "no ONNX backend tests in " + data_dir() + "/onnx-backend; set OCTET_DATA"
          : "";
  return text;
}

std::string data_dir() {
  const char* set = std::getenv("OCTET_DATA");
  return set != nullptr && *set != '\0' ? set : std::string(source_dir()) + "/../shared/data";
}

} // namespace octet::test
