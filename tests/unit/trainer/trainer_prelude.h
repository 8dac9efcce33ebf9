// What most tests of the trainer start with.
#pragma once

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "test_prelude.h"

namespace ffkit::testing {

// Numbers between -0.5 and 0.5 from a formula, the same in Python.
inline at::Tensor formula_numbers(at::IntArrayRef shape, double seed) {
  at::Tensor out = at::zeros(shape, at::kDouble);
  auto* value = out.mutable_data_ptr<double>();
  for (int64_t j = 0; j < out.numel(); ++j) {
    const double s = std::sin(double(j + 1) * 12.9898 + seed * 78.233) * 43.75853;
    value[j] = s - std::floor(s) - 0.5;
  }
  return out;
}

}  // namespace ffkit::testing
