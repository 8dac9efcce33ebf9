// The wheel of libtorch includes this header but does not bring it. Of gloo's types only pointers
// are held outside of libtorch.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
