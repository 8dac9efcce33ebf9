// A small data set folder with the splits train and val, for tests: pictures whose colour tells
// their class.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/record.h>
#include <ffkit/image/image_codec.h>

namespace ffkit::testing {

struct SyntheticDataset {
  std::vector<std::string> classes = {"blue", "green", "red"};  // at most three
  int64_t num_train = 48;
  int64_t num_val = 20;
  uint32_t seed = 1;
};

inline void write_synthetic_split(const std::filesystem::path& folder, const std::string& split,
                                  int64_t num_records, const SyntheticDataset& kind,
                                  uint32_t seed) {
  constexpr int kSide = 24;
  Manifest manifest;
  manifest.split = split;
  manifest.schema = image_classification_schema();
  manifest.classes = kind.classes;
  manifest.created_by = "test";
  DatasetWriter writer(folder / split, manifest);
  RecordBuilder builder(manifest.schema);
  std::mt19937 random(seed);
  std::vector<uint8_t> pixels(size_t(kSide) * kSide * 3);
  std::vector<std::byte> record;
  for (int64_t i = 0; i < num_records; ++i) {
    const auto label = i % int64_t(kind.classes.size());
    for (size_t p = 0; p < pixels.size(); ++p) {
      const unsigned noise = random() % 160;
      pixels[p] = uint8_t(noise + (p % 3 == size_t(2 - label) ? 90 : 0));
    }
    const std::vector<std::byte> jpeg = encode_jpeg({pixels.data(), kSide, kSide, kSide * 3});
    const std::string id = fmt::format("{}/{}.jpg", kind.classes[size_t(label)], i);
    builder.set_bytes(manifest.schema.require("image"), jpeg);
    builder.set_scalar<int64_t>(manifest.schema.require("label"), label);
    builder.set_string(manifest.schema.require("id"), id);
    builder.encode(record);
    writer.append(record);
  }
  writer.finish();
}

// Writes `folder`, which must not exist.
inline void write_synthetic_dataset(const std::filesystem::path& folder,
                                    const SyntheticDataset& kind = {}) {
  std::filesystem::create_directories(folder);
  write_synthetic_split(folder, "train", kind.num_train, kind, kind.seed);
  write_synthetic_split(folder, "val", kind.num_val, kind, kind.seed + 1000);
}

}  // namespace ffkit::testing
