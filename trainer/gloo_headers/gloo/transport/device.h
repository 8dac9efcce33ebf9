// The wheel of libtorch includes this header but does not bring it. Of gloo's types only pointers
// are held outside of libtorch.
#pragma once

namespace gloo::transport {

class Device;
class UnboundBuffer {
 public:
  virtual ~UnboundBuffer() = default;
};

}  // namespace gloo::transport
