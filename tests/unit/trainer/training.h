// What the tests of whole trainings share: a data set of colours, and options that learn it in
// seconds.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/trainer/classification.h>
#include <ffkit/trainer/trainer.h>

#include "files/safetensors.h"
#include "support/synthetic_dataset.h"
#include "support/test_models.h"
#include "temp_dir.h"

namespace ffkit::testing {

inline const ProgressOutput kQuiet{.lines = nullptr, .live = nullptr};

// What options change, and how.
using Change = std::pair<std::string, std::function<void(TrainOptions&)>>;

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() {
    add_test_models();
    write_synthetic_dataset(data());
  }

  std::filesystem::path data() const { return temp_ / "data"; }

  TrainOptions options(const std::string& work_dir = "") const {
    TrainOptions o;
    o.data = data();
    if (!work_dir.empty()) o.work_dir = temp_ / work_dir;
    classification(o).arch = kTestResNet;
    classification(o).image_size = 32;
    classification(o).crop_scale_min = 0.35;
    classification(o).eval_resize = 32;
    o.epochs = 2;
    o.batch_size = 8;
    o.lr = 0.02;
    o.warmup_epochs = 1;
    o.keep_checkpoints = 0;
    o.compute_threads = 1;  // several would only wait for each other where tests run in parallel
    return o;
  }

  TempDir temp_;
};

inline void expect_same_tensors(const std::filesystem::path& a, const std::filesystem::path& b) {
  const SafeTensors x = read_safetensors(a);
  const SafeTensors y = read_safetensors(b);
  ASSERT_EQ(x.tensors.size(), y.tensors.size());
  for (size_t i = 0; i < x.tensors.size(); ++i) {
    EXPECT_EQ(x.tensors[i].name, y.tensors[i].name);
    EXPECT_TRUE(x.tensors[i].tensor.equal(y.tensors[i].tensor)) << x.tensors[i].name;
  }
  EXPECT_EQ(x.metadata.at("progress"), y.metadata.at("progress"));
  EXPECT_EQ(x.metadata.at("loader"), y.metadata.at("loader"));
}

inline std::vector<nlohmann::json> read_metrics(const std::filesystem::path& work_dir) {
  std::ifstream in(work_dir / "metrics.jsonl");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// "train 4" and so on: what was logged after which step.
inline std::vector<std::string> kinds_and_steps(const std::filesystem::path& work_dir) {
  std::vector<std::string> out;
  for (const auto& json : read_metrics(work_dir)) {
    out.push_back(json.at("kind").get<std::string>() + " " + json.at("step").dump());
  }
  return out;
}

}  // namespace ffkit::testing
