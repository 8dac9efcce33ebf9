// The device that a process trains on: which it is, in which precision it computes, and its errors.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <optional>
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

// AutocastAs: as long as it lives, libtorch's autocast on a device is on or off, in this precision.
class AutocastAs {
 public:
  AutocastAs(c10::DeviceType device, bool on, c10::ScalarType type);
  ~AutocastAs() { set(was_on_, old_type_); }
  AutocastAs(const AutocastAs&) = delete;
  AutocastAs& operator=(const AutocastAs&) = delete;

 private:
  void set(bool on, c10::ScalarType type) const;
  const c10::DeviceType device_;
  const bool was_on_;
  const c10::ScalarType old_type_;
};

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
  std::optional<AutocastAs> as_;
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
                  "process more memory (ulimit -v, or the limit of its container)");
    }
    const size_t no_kernel = message.find(" does not have a deterministic implementation");
    if (no_kernel != std::string::npos) {
      throw Error(
          ErrorCode::unsupported,
          "the option deterministic is on, but on a GPU, libtorch's " +
              message.substr(0, no_kernel) +
              " gives different bits in each run; train without deterministic, or on the CPU");
    }
    throw Error(ErrorCode::invalid_argument, "libtorch refused the operation: " + message);
  }
}

}  // namespace ffkit
