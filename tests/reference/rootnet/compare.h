// What rootnet_compare holds against each other.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "fixture_files.h"

namespace ffkit::testing {

// Prints what is too far, and the largest deviation of each kind of comparison.
class Deviations {
 public:
  explicit Deviations(bool shows_all) : shows_all_(shows_all) {}

  // `kind`: comparisons whose largest deviation is shown together.
  void check(const std::string& kind, const std::string& what, double deviation, double tolerance);
  bool report() const;

 private:
  const bool shows_all_;
  std::map<std::string, double> worst_;
  int count_ = 0;
  int failures_ = 0;
};

struct RootNetFixture {
  std::filesystem::path folder;
  nlohmann::json expected, weights;
  std::map<std::string, at::Tensor> arrays;  // of the .npz
};

// Crops and targets of the samples, boxes and cameras. `root`: of the nuScenes pictures; empty:
// pixels are not compared.
void compare_samples(const RootNetFixture& fixture, const std::filesystem::path& root,
                     Deviations& deviations);
// AP and MRPE of the made sets.
void compare_evaluations(const RootNetFixture& fixture, Deviations& deviations);
// The network's coordinates, losses and gradients.
void compare_network(const RootNetFixture& fixture, const std::string& mode, bool in_float32,
                     Deviations& deviations);

}  // namespace ffkit::testing
