// RandomSection: what is drawn while it lives comes from a key of its own, and the generator is
// left as it was. So dropout of a layer can be drawn again for its backward pass, and is the same
// on whichever process computes the layer.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace ffkit {

// A number that depends on all of `parts`.
uint64_t key_of_parts(std::initializer_list<uint64_t> parts);

class RandomSection {
 public:
  // Nothing without a key.
  RandomSection(c10::Device device, std::optional<uint64_t> key);
  ~RandomSection();
  RandomSection(const RandomSection&) = delete;
  RandomSection& operator=(const RandomSection&) = delete;

 private:
  at::Generator generator_;  // undefined without a key
  at::Tensor before_;
};

}  // namespace ffkit
