// SPDX-License-Identifier: Apache-2.0
// The names of Gloo's that LibTorch's header of its Gloo process group uses. The package has Gloo
// inside libtorch_cpu and leaves its headers out. Nothing here is called or made by octet: objects
// of these types live inside LibTorch, so only the names and signatures have to be there.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace rendezvous {
class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::vector<char>& value) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) = 0;
};
} // namespace rendezvous

namespace transport {
class Device {};
class UnboundBuffer {};
} // namespace transport

} // namespace gloo
