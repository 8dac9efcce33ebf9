#include "optim/host_scalar.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace ffkit {

HostScalar::HostScalar(const at::Tensor& scalar) : value_(scalar) {
  if (scalar.is_cpu()) return;
  const c10::Device device = scalar.device();
  value_ = at::empty(scalar.sizes(), at::TensorOptions(scalar.scalar_type()).pinned_memory(true));
  value_.copy_(scalar, /*non_blocking=*/true);
  done_ = std::make_shared<c10::Event>(device.type());
  done_->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

double HostScalar::get() const {
  if (done_) done_->synchronize();
  return value_.item<double>();
}

}  // namespace ffkit
