// A made-up data root that a test changes before it is opened.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/converter/convert.h>
#include <ffkit/format/dataset.h>
#include <ffkit/sources/nuscenes.h>

#include "nuscenes/nuscenes_root.h"
#include "tar_builder.h"
#include "temp_dir.h"

namespace ffkit::testing {

class NuScenesRootTest : public ::testing::Test {
 protected:
  void SetUp() override { write_nuscenes_root(root()); }

  std::filesystem::path root() const { return dir_ / "root"; }
  std::filesystem::path table(const std::string& name) const {
    return root() / "v1.0-mini" / (name + ".json");
  }
  void edit(const std::string& name, const std::function<void(nlohmann::json&)>& change) const {
    nlohmann::json rows = nlohmann::json::parse(read_file(table(name)));
    change(rows);
    std::ofstream(table(name)) << rows;
  }
  std::unique_ptr<Source> open(const NuScenesOptions& options = {}) const {
    return open_nuscenes(root(), options);
  }
  std::string first_file(const std::string& folder) const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(root() / folder)) {
      files.push_back(entry.path().string());
    }
    return *std::min_element(files.begin(), files.end());
  }
  // Converts everything; the records of a split, field by field.
  Dataset converted(const NuScenesOptions& options, const std::string& split,
                    const ConvertOptions& convert_options = {}) {
    const std::filesystem::path folder = dir_ / ("data" + std::to_string(num_converted_++));
    convert(*open(options), folder, convert_options);
    return Dataset::open(folder, split);
  }

  TempDir dir_;
  int num_converted_ = 0;
};

}  // namespace ffkit::testing
