// SPDX-License-Identifier: Apache-2.0
// A configuration file: refused with an error, or expanded into flags that the command takes apart.
#include "cli/config.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "replay/seeds.h"
#include <CLI/CLI.hpp>
#include <sys/mman.h>
#include <unistd.h>

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {"batch = 64\nhidden-relu = true\n[train.cnn]\nepochs = 3\nlearning-rate = 1e-2\n",
          "[train]\ncnn = {epochs = 1, data = \"a\", only = ['x', \"y\"]}\n",
          "# comment\n\"batch\" = 0x10\nwidths = [8, 64]\n[other]\nkey = 1979-05-27\n"};
}

} // namespace octet::fuzz

namespace {

/// A command with options of every kind.
struct App {
  CLI::App app{"octet"};
  int64_t batch = 0, epochs = 0;
  double rate = 0;
  bool relu = false;
  std::string data;
  std::vector<std::string> only;

  App() {
    CLI::App* command = app.add_subcommand("train")->add_subcommand("cnn");
    command->add_option("--batch", batch);
    command->add_option("--epochs", epochs);
    command->add_option("--learning-rate", rate);
    command->add_option("--data", data);
    command->add_option("--only", only)->allow_extra_args(false);
    command->add_flag("--hidden-relu", relu);
  }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int fd = memfd_create("config", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  App app;
  const std::vector<std::string> arguments = {"train", "cnn", "--config", path};
  const auto expanded = octet::cli::expand_config(arguments, app.app);
  close(fd);
  // What was given stands behind what the file says.
  if (expanded.ok() && (expanded->size() < 4 || expanded->back() != path)) std::abort();
  return 0;
}
