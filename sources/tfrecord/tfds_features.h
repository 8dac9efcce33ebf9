// TensorFlow Datasets' files beside its TFRecords: what features.json says of shapes, which the
// records do not hold, and the names of classes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

// By the name of the feature in the records ("objects/bbox"), of those whose numbers have two or
// more dimensions; -1 for a length that differs. Throws Error(corrupt) for what is no
// features.json.
std::map<std::string, std::vector<int64_t>> read_tfds_shapes(const std::filesystem::path& path,
                                                             std::string_view json);

// By the name of the split as it is in files' names ("validation"), how many records
// dataset_info.json counts in it. Throws Error(corrupt) for what is no dataset_info.json.
std::map<std::string, int64_t> read_tfds_counts(const std::filesystem::path& path,
                                                std::string_view json);

// The names of the feature's classes in <name>.labels.txt beside `records`, with "-" for "/"; empty
// where there is no such file.
std::vector<std::string> find_tfds_classes(const std::filesystem::path& records,
                                           const std::string& feature);

}  // namespace ffkit
