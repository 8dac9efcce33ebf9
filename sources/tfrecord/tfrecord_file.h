// TFRecord files: where their records are, their features, and those in the files that TensorFlow
// Datasets has beside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archives/tar_index.h"
#include "files/file_window.h"

namespace ffkit {

// TfExample: the protobuf message tf.train.Example, without TensorFlow.
//
//   Example { Features features = 1 }    Features { map<string, Feature> feature = 1 }
//   Feature { oneof BytesList = 1, FloatList = 2, Int64List = 3 }, each { repeated value = 1 }
//
// Source: tensorflow/core/example/{example,feature}.proto and protobuf's encoding: of a name that
// is there twice the last one counts, numbers may be packed or not, unknown fields are passed over.

enum class TfKind : uint8_t { none, bytes, floats, integers };

// A feature; points into the message.
struct TfFeature {
  std::string_view name;
  TfKind kind = TfKind::none;
  size_t num_values = 0;
  // Of bytes: the values. Of floats: little-endian numbers, one after the other, in pieces. Of
  // integers: varints, in pieces.
  std::vector<std::span<const std::byte>> pieces;

  // `out` has num_values numbers; the feature must be of that kind.
  void read_floats(std::span<float> out) const;
  void read_integers(std::span<int64_t> out) const;
};

class TfExample {
 public:
  // Replaces what it held. `message` must outlive the features. Throws Error(corrupt) for what is
  // no such message, Error(unsupported) for a tf.train.SequenceExample, both without a path.
  void parse(std::span<const std::byte> message);

  // By name, each name once.
  const std::vector<TfFeature>& features() const noexcept { return features_; }
  // Null where there is none.
  const TfFeature* find(std::string_view name) const;

 private:
  std::vector<TfFeature> features_;
};

// TensorFlow Datasets' files beside its TFRecords: what features.json says of shapes, which the
// records do not hold, and the names of classes.

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

// TFRecord files: records behind each other, each with checksums of its length and its data.
//
//   | u64 length | u32 masked CRC-32C of the length | data | u32 masked CRC-32C of the data | ...
//
// Source: tensorflow/core/lib/io/record_writer.cc. The mask is ((crc >> 15) | (crc << 17)) +
// 0xa282ead8.

inline constexpr size_t kTfRecordCrcBytes = 4;

// Of a record: its data with the checksum behind them. Throws Error(corrupt), without a path, where
// they do not fit; returns the data.
std::span<const std::byte> checked_tfrecord(std::span<const std::byte> data_and_crc);

// Is told each record: its number in the file, and its data with the checksum; empty where it has
// more than the limit.
using UseTfRecord = std::function<void(int64_t record, std::span<const std::byte> data_and_crc)>;

// Where the records' data with their checksums lie, front to back.
struct TfRecordPlaces {
  std::vector<FileRange> records;
  // Of a file that is cut, or has a damaged length: what is wrong with the last of `records`, which
  // is all that is left of the file. Else empty.
  std::string damage;
};

// Reads the whole file, but for records of more than `max_bytes`. Throws Error(corrupt) for a file
// whose first record is cut or damaged, and for one that is something else, naming what it is.
TfRecordPlaces scan_tfrecords(const std::filesystem::path& path, int64_t num_bytes,
                              const ReadBytes& read, int64_t max_bytes, const UseTfRecord& use);

}  // namespace ffkit
