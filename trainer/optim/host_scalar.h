// HostScalar: a number that a device computes, for the host to read later. item() would wait for
// all that the device was given in the meantime; this waits for the number alone.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <memory>

namespace ffkit {

class HostScalar {
 public:
  // Queues the copy behind what the device's current stream has to do. `scalar`: [] f32 or f64, not
  // changed any more.
  explicit HostScalar(const at::Tensor& scalar);
  // Blocks until it is there.
  double get() const;

 private:
  at::Tensor value_;                  // on the CPU; pinned, where it comes from a GPU
  std::shared_ptr<c10::Event> done_;  // null: it was there
};

}  // namespace ffkit
