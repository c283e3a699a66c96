// SPDX-License-Identifier: Apache-2.0
// Training with two processes on this machine. Each is this executable, started again with the
// variables that torchrun sets; what a process finds it writes into a file.
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/progress.h"
#include "sequences.h"
#include "train/trainer/trainer.h"
#include "training_support.h"
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace octet {
namespace {

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

/// The run of one process: losses of the steps, then the model's hash or the error.
struct Outcome {
  std::vector<double> losses;
  std::string end;
};

Outcome train_here(const World& world, int64_t batch, const std::string& special) {
  const test::Sequences data(100), unseen(40, 2);
  TrainOptions options = test::sequence_options();
  options.batch_size = batch;
  options.world = world;
  if (special == "fp8") {
    options.precision = Precision::kFloat8;
    options.fp8.history = 3;
  }
  if (special == "other-options" && world.rank == 1) options.optimizer.lr *= 2;
  Outcome outcome;
  options.on_scalar = [&](std::string_view tag, int64_t, double value) {
    if (tag == "train/step_loss" || tag == "validation/loss") outcome.losses.push_back(value);
  };
  options.on_step = [&](const TrainProgress& p) {
    if (special == "dies" && world.rank == 1 && p.step == 3) std::raise(SIGKILL);
  };
  const Result<TrainedModel> model =
      train::train_graph(test::sequence_network(), data, &unseen, options);
  outcome.end =
      model.ok() ? fmt::format("{:016x}", model->graph.content_hash()) : model.error().text();
  return outcome;
}

/// What a started process does; alone, without its variables, it has nothing to do.
TEST(DistributedProcess, TrainsAsItsEnvironmentSays) {
  const char* file = std::getenv("OCTET_TEST_OUTCOME");
  if (file == nullptr) return;
  Result<World> world = world_from_environment();
  ASSERT_TRUE(world.ok()) << world.error().text();
  world->timeout_seconds = 20;
  const Outcome outcome = train_here(*world, 8, std::getenv("OCTET_TEST_SPECIAL"));
  std::ofstream out(file);
  for (const double loss : outcome.losses)
    out << fmt::format("{:.17g}\n", loss);
  out << "end " << outcome.end << "\n";
}

pid_t start(int rank, int port, const std::string& file, const std::string& special) {
  const std::vector<std::string> text = {
      "RANK=" + std::to_string(rank), "WORLD_SIZE=2",
      "MASTER_ADDR=127.0.0.1",        "MASTER_PORT=" + std::to_string(port),
      "OCTET_TEST_OUTCOME=" + file,   "OCTET_TEST_SPECIAL=" + special};
  std::vector<char*> environment;
  for (char** e = environ; *e != nullptr; ++e)
    environment.push_back(*e);
  for (const std::string& t : text)
    environment.push_back(const_cast<char*>(t.c_str()));
  environment.push_back(nullptr);
  const char* arguments[] = {"octet_test_train",
                             "--gtest_filter=DistributedProcess.TrainsAsItsEnvironmentSays",
                             "--gtest_brief=1", nullptr};
  const pid_t child = fork();
  if (child == 0) {
    execve("/proc/self/exe", const_cast<char**>(arguments), environment.data());
    _exit(127);
  }
  return child;
}

std::vector<Outcome> run_two(const std::string& special) {
  const int port = free_port();
  std::vector<std::string> files;
  std::vector<pid_t> children;
  for (int rank = 0; rank < 2; ++rank) {
    files.push_back(fmt::format("{}octet_distributed_{}_{}", testing::TempDir(), getpid(), rank));
    std::filesystem::remove(files.back());
    children.push_back(start(rank, port, files.back(), special));
  }
  for (const pid_t child : children)
    waitpid(child, nullptr, 0);
  std::vector<Outcome> outcomes;
  for (const std::string& file : files) {
    Outcome outcome;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("end "))
        outcome.end = line.substr(4);
      else
        outcome.losses.push_back(std::stod(line));
    outcomes.push_back(std::move(outcome));
    std::filesystem::remove(file);
  }
  return outcomes;
}

TEST(Distributed, TwoProcessesFollowTheCurveOfOneWithTheDoubleBatch) {
  const std::vector<Outcome> two = run_two("");
  EXPECT_EQ(two[0].end, two[1].end); // the same model, bit for bit
  EXPECT_EQ(two[0].losses, two[1].losses);
  const Outcome one = train_here(World{}, 16, "");
  ASSERT_EQ(two[0].losses.size(), one.losses.size()) << two[0].end;
  // Sums over other batches round differently; 28 steps of AdamW carry that on.
  for (size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_NEAR(two[0].losses[i], one.losses[i], 1e-4 * one.losses[i]) << i;
}

/// Each process takes the largest magnitudes of both, so codes are those of one process.
TEST(Distributed, InFp8TheProcessesShareTheirScales) {
  const std::vector<Outcome> two = run_two("fp8");
  EXPECT_EQ(two[0].end, two[1].end);
  EXPECT_EQ(two[0].losses, two[1].losses);
  const Outcome one = train_here(World{}, 16, "fp8");
  ASSERT_EQ(two[0].losses.size(), one.losses.size()) << two[0].end;
  // Codes are the same until a difference in the order of sums carries one across a tie, after which
  // it grows by steps of codes.
  for (size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(two[0].losses[i], one.losses[i], 1e-2 * one.losses[i]) << i;
}

TEST(Distributed, ALostProcessEndsTheRunWithAnError) {
  const auto start_time = std::chrono::steady_clock::now();
  const std::vector<Outcome> two = run_two("dies");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_time;
  EXPECT_NE(two[0].end.find("another process of the run (WORLD_SIZE 2) is gone or did not answer"),
            std::string::npos)
      << two[0].end;
  EXPECT_TRUE(two[1].end.empty());
  EXPECT_LT(seconds.count(), 120); // a hang would be longer than any timeout in use
}

/// Nobody else comes: neither the process with the store nor the other one waits for the timeout.
TEST(Distributed, WaitingForTheOthersCanBeStopped) {
  const test::Sequences data(100);
  for (const int rank : {0, 1}) {
    CancelToken token;
    TrainOptions options = test::sequence_options();
    options.world = {.rank = rank, .size = 2, .port = free_port(), .timeout_seconds = 300};
    options.cancel = &token;
    std::thread signal([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      token.cancel();
    });
    const auto begin = std::chrono::steady_clock::now();
    const Result<TrainedModel> model =
        train::train_graph(test::sequence_network(), data, nullptr, options);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    signal.join();
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code(), ErrorCode::kCancelled) << model.error().text();
    EXPECT_LT(seconds.count(), 120) << rank; // it would have been the timeout
  }
}

/// What the others do not answer is said in octet's words, not in a line of Gloo's log.
TEST(Distributed, AProcessThatStaysAloneSaysWhomItWaitedFor) {
  const test::Sequences data(100);
  TrainOptions options = test::sequence_options();
  options.world = {.rank = 0, .size = 2, .port = free_port(), .timeout_seconds = 1};
  const Result<TrainedModel> model =
      train::train_graph(test::sequence_network(), data, nullptr, options);
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().text().find("the process with RANK 1 did not come"), std::string::npos)
      << model.error().text();
}

TEST(Distributed, OtherOptionsAreRefused) {
  for (const Outcome& outcome : run_two("other-options"))
    EXPECT_NE(outcome.end.find(
                  "RANK 1 has another graph, other data or other options than the one with RANK 0"),
              std::string::npos)
        << outcome.end;
}

TEST(World, IsReadFromTheEnvironment) {
  const std::map<std::string, std::string> variables = {
      {"WORLD_SIZE", "4"}, {"RANK", "3"}, {"MASTER_ADDR", "host"}, {"MASTER_PORT", "1234"}};
  for (const auto& [name, value] : variables)
    setenv(name.c_str(), value.c_str(), 1);
  const Result<World> world = world_from_environment();
  setenv("RANK", "4", 1);
  const Result<World> beyond = world_from_environment();
  unsetenv("RANK");
  const Result<World> missing = world_from_environment();
  for (const auto& [name, value] : variables)
    unsetenv(name.c_str());
  ASSERT_TRUE(world.ok());
  EXPECT_EQ(world->rank, 3);
  EXPECT_EQ(world->size, 4);
  EXPECT_EQ(world->address, "host");
  EXPECT_EQ(world->port, 1234);
  EXPECT_EQ(beyond.error().text(), "RANK is \"4\"; it is a number in 0 .. 3");
  EXPECT_NE(missing.error().text().find("RANK is not"), std::string::npos);
  EXPECT_EQ(world_from_environment()->size, 1);
}

} // namespace
} // namespace octet
