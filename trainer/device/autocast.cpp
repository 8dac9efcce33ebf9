#include "device/autocast.h"

#include <ATen/autocast_mode.h>

namespace ffkit {

Autocast::Autocast(Amp amp, c10::Device device) : is_on_(amp != Amp::off), device_(device.type()) {
  if (!is_on_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(device_);
  old_dtype_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_dtype(device_, amp == Amp::bf16 ? at::kBFloat16 : at::kHalf);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!is_on_) return;
  // Weights that were cast are kept for the length of the forward pass: the next one sees other
  // weights.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, old_dtype_);
}

}  // namespace ffkit
