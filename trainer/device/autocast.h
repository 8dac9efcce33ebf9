// Autocast: as long as it lives, libtorch's operations compute in a lower precision where that is
// safe (torch.autocast).
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <ffkit/trainer/train_options.h>

namespace ffkit {

class Autocast {
 public:
  // Does nothing with Amp::off. Only the forward pass belongs under it.
  Autocast(Amp amp, c10::Device device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  const bool is_on_;
  const c10::DeviceType device_;
  bool was_enabled_ = false;
  c10::ScalarType old_dtype_ = c10::ScalarType::Float;
};

}  // namespace ffkit
