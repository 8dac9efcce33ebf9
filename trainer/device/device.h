// The device that a process trains on: which it is, in which precision it computes, and its errors.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <string>

#include <ffkit/base/error.h>
#include <ffkit/launch/launch.h>
#include <ffkit/trainer/train_options.h>

#include "cuda_module.h"

namespace ffkit {

// The device that options.device names: cpu, cuda (the local rank's GPU), cuda:N, or auto (cuda if
// there is a GPU). Makes a GPU the current one, and sets for the whole process how libtorch chooses
// kernels (options.deterministic). Call it before other threads start. Throws
// Error(invalid_argument) for other names, Error(not_found) if there is no such GPU.
c10::Device prepare_device(const TrainOptions& options, const ProcessPlace& place);

// Autocast: as long as it lives, libtorch's operations compute in a lower precision where that is
// safe (torch.autocast).
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

// Runs `body`; what libtorch throws leaves as an ffkit::Error of one sentence, without its
// backtrace.
template <typename Body>
auto with_torch_errors(Body body) {
  try {
    return body();
  } catch (const c10::Error& e) {
    std::string message = e.what_without_backtrace();
    message = message.substr(0, message.find('\n'));
    if (message.find("can't allocate memory") != std::string::npos) {
      throw Error(ErrorCode::io,
                  "there is not enough memory for libtorch; give smaller batches, or give the "
                  "process more (ulimit -v, or its container)");
    }
    const size_t no_kernel = message.find(" does not have a deterministic implementation");
    if (no_kernel != std::string::npos) {
      throw Error(ErrorCode::unsupported,
                  "deterministic is set, and libtorch's " + message.substr(0, no_kernel) +
                      " gives other bits in each run on a GPU; train without it, or on the CPU");
    }
    throw Error(ErrorCode::invalid_argument, "libtorch refused: " + message);
  }
}

}  // namespace ffkit
