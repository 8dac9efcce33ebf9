#include "tfrecord/tfrecord_file.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <nlohmann/json.hpp>

#include <ffkit/base/crc32c.h>

#include "base/number_text.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/text_files.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

constexpr uint64_t kVarint = 0;
constexpr uint64_t kFixed64 = 1;
constexpr uint64_t kLengthDelimited = 2;
constexpr uint64_t kFixed32 = 5;

Error broken_example(const char* what) {
  return error_of(ErrorCode::corrupt, "the record is not a tf.train.Example: {}", what);
}

// The fields of a protobuf message, one after the other.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> message) : rest_(message) {}

  bool has_more() const { return !rest_.empty(); }

  uint64_t varint() {
    uint64_t value = 0;
    constexpr int kMaxBytes = 10;
    for (int i = 0; i < kMaxBytes; ++i) {
      if (rest_.empty()) throw broken_example("it ends inside a number");
      const auto byte = std::to_integer<uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      value |= (byte & 0x7F) << (7 * i);
      if (byte < 0x80) return value;
    }
    throw broken_example("a number has more than ten bytes");
  }

  std::span<const std::byte> take(uint64_t num_bytes) {
    if (num_bytes > rest_.size()) throw broken_example("it ends inside a value");
    const auto taken = rest_.first(static_cast<size_t>(num_bytes));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  std::span<const std::byte> block() { return take(varint()); }

  // Behind the key of a field that is not wanted.
  void skip(uint64_t wire_type) {
    if (wire_type == kVarint) {
      varint();
    } else if (wire_type == kFixed64) {
      take(sizeof(uint64_t));
    } else if (wire_type == kLengthDelimited) {
      block();
    } else if (wire_type == kFixed32) {
      take(sizeof(uint32_t));
    } else {
      throw broken_example("a field has an unknown type");
    }
  }

  std::span<const std::byte> varint_bytes() {
    const std::span<const std::byte> before = rest_;
    varint();
    return before.first(before.size() - rest_.size());
  }

 private:
  std::span<const std::byte> rest_;
};

// Calls use(number, wire type, reader) for each field; `use` returns whether it has read it.
template <typename Use>
void for_each_field(std::span<const std::byte> message, const Use& use) {
  WireReader reader(message);
  while (reader.has_more()) {
    const uint64_t key = reader.varint();
    if (key >> 3 == 0) throw broken_example("a field has the number 0");
    if (!use(key >> 3, key & 7, reader)) reader.skip(key & 7);
  }
}

// How many varints there are in `bytes`, which must end with one.
size_t count_varints(std::span<const std::byte> bytes) {
  if (!bytes.empty() && std::to_integer<unsigned>(bytes.back()) >= 0x80) {
    throw broken_example("a list of numbers ends inside a number");
  }
  return static_cast<size_t>(std::ranges::count_if(
      bytes, [](std::byte byte) { return std::to_integer<unsigned>(byte) < 0x80; }));
}

void add_values(TfFeature& feature, std::span<const std::byte> list, TfKind kind) {
  if (feature.kind != kind) {
    feature.pieces.clear();
    feature.num_values = 0;
    feature.kind = kind;
  }
  for_each_field(list, [&](uint64_t number, uint64_t wire_type, WireReader& reader) {
    if (number != 1) return false;
    if (kind == TfKind::bytes && wire_type == kLengthDelimited) {
      feature.pieces.push_back(reader.block());
      ++feature.num_values;
      return true;
    }
    if (kind == TfKind::floats && (wire_type == kLengthDelimited || wire_type == kFixed32)) {
      const auto piece = wire_type == kFixed32 ? reader.take(sizeof(float)) : reader.block();
      if (piece.size() % sizeof(float) != 0) {
        throw broken_example("a list of floats ends inside a float");
      }
      feature.pieces.push_back(piece);
      feature.num_values += piece.size() / sizeof(float);
      return true;
    }
    if (kind == TfKind::integers && (wire_type == kLengthDelimited || wire_type == kVarint)) {
      const auto piece = wire_type == kVarint ? reader.varint_bytes() : reader.block();
      feature.num_values += count_varints(piece);
      feature.pieces.push_back(piece);
      return true;
    }
    throw broken_example("the values of a list have another type than the list");
  });
}

void read_feature(TfFeature& feature, std::span<const std::byte> message) {
  for_each_field(message, [&](uint64_t number, uint64_t wire_type, WireReader& reader) {
    if (number > 3) return false;
    if (wire_type != kLengthDelimited) throw broken_example("a feature is not a list");
    const auto list = reader.block();
    if (number == 1) add_values(feature, list, TfKind::bytes);
    if (number == 2) add_values(feature, list, TfKind::floats);
    if (number == 3) add_values(feature, list, TfKind::integers);
    return true;
  });
}

TfFeature read_entry(std::span<const std::byte> message) {
  TfFeature feature;
  std::span<const std::byte> value;
  for_each_field(message, [&](uint64_t number, uint64_t wire_type, WireReader& reader) {
    if (number > 2) return false;
    if (wire_type != kLengthDelimited) throw broken_example("an entry is not a name and a feature");
    const auto block = reader.block();
    if (number == 1) {
      feature.name = {reinterpret_cast<const char*>(block.data()), block.size()};
    } else {
      value = block;
    }
    return true;
  });
  read_feature(feature, value);
  return feature;
}

using FeatureJson = nlohmann::json;
using Shapes = std::map<std::string, std::vector<int64_t>>;

// protobuf's JSON has 64-bit numbers as texts.
int64_t tfds_number(const FeatureJson& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  const auto& text = value.get_ref<const std::string&>();
  if (const auto number = number_of_text<int64_t>(text)) return *number;
  throw error_of(ErrorCode::corrupt, "'{}' is not a number", text.substr(0, 40));
}

// The feature `name`, which stands in lists of the lengths `outer`.
void add_shapes(const FeatureJson& feature, const std::string& name, std::vector<int64_t> outer,
                int depth, Shapes& shapes) {
  constexpr int kMaxDepth = 32;
  if (depth > kMaxDepth) throw Error(ErrorCode::corrupt, "features are nested too deeply");
  if (feature.contains("featuresDict")) {
    for (const auto& [key, child] : feature.at("featuresDict").at("features").items()) {
      add_shapes(child, name.empty() ? key : fmt::format("{}/{}", name, key), outer, depth + 1,
                 shapes);
    }
    return;
  }
  if (feature.contains("sequence")) {
    const FeatureJson& sequence = feature.at("sequence");
    // Left out where it differs, as -1 is.
    outer.push_back(sequence.contains("length") ? tfds_number(sequence.at("length")) : -1);
    add_shapes(sequence.at("feature"), name, std::move(outer), depth + 1, shapes);
    return;
  }
  for (const char* kind : {"tensor", "boundingBox"}) {
    if (!feature.contains(kind)) continue;
    const FeatureJson& tensor = feature.at(kind);
    // Other encodings are bytes.
    if (tensor.contains("encoding") && tensor.at("encoding") != "none") continue;
    if (!tensor.contains("shape")) continue;
    const FeatureJson& shape = tensor.at("shape");
    if (shape.contains("dimensions")) {
      for (const FeatureJson& extent : shape.at("dimensions")) {
        outer.push_back(tfds_number(extent));
      }
    }
  }
  // With two lengths that differ the rows do not tell them.
  if (outer.size() >= 2 && std::ranges::count(outer, -1) <= 1) shapes[name] = std::move(outer);
}

constexpr size_t kTfHeaderBytes = sizeof(uint64_t) + kTfRecordCrcBytes;
constexpr size_t kTfWindowBytes = 4 << 20;

uint32_t masked_crc(std::span<const std::byte> data) {
  constexpr uint32_t kMask = 0xA282EAD8;
  const uint32_t crc = crc32c(data);
  return ((crc >> 15) | (crc << 17)) + kMask;
}

template <typename T>
T little_endian(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

bool begins_with(std::span<const std::byte> head, std::string_view signature) {
  return head.size() >= signature.size() &&
         std::memcmp(head.data(), signature.data(), signature.size()) == 0;
}

// Of a file whose first record is none.
Error no_tfrecord_error(const fs::path& path, std::span<const std::byte> head) {
  using namespace std::string_view_literals;
  constexpr auto kRiegeli = "\x83\xAF\x70\xD1\x0D\x88\x4A\x3F"sv;
  if (begins_with(head, kRiegeli)) {
    return source_error(
        path, ErrorCode::unsupported,
        "the file is a Riegeli file (written by array_record), not a TFRecord file");
  }
  for (const auto zlib : {"\x78\x01"sv, "\x78\x5E"sv, "\x78\x9C"sv, "\x78\xDA"sv}) {
    if (begins_with(head, zlib)) {
      return source_error(path, ErrorCode::unsupported,
                          "the file has zlib data (TensorFlow's compression_type='ZLIB'); write "
                          "the file again with 'GZIP' or without compression");
    }
  }
  const ContentKind kind = content_kind(head);
  if (kind == ContentKind::unknown) {
    return source_error(
        path, ErrorCode::corrupt,
        "the file is not a TFRecord file: the checksum of the first record's length is wrong");
  }
  return source_error(path, ErrorCode::unsupported, "the file is {}, not a TFRecord file",
                      content_name(kind));
}

}  // namespace

void TfFeature::read_floats(std::span<float> out) const {
  for (const std::span<const std::byte> piece : pieces) {
    std::memcpy(out.data(), piece.data(), piece.size());
    out = out.subspan(piece.size() / sizeof(float));
  }
}

void TfFeature::read_integers(std::span<int64_t> out) const {
  auto next = out.begin();
  for (const std::span<const std::byte> piece : pieces) {
    WireReader reader(piece);
    while (reader.has_more()) *next++ = static_cast<int64_t>(reader.varint());
  }
}

void TfExample::parse(std::span<const std::byte> message) {
  features_.clear();
  for_each_field(message, [&](uint64_t number, uint64_t wire_type, WireReader& reader) {
    if (number > 2) return false;
    if (wire_type != kLengthDelimited) throw broken_example("it holds no features");
    if (number == 2) {
      throw Error(ErrorCode::unsupported,
                  "the record is a tf.train.SequenceExample, but ffkit does not read its lists of "
                  "steps; write the steps as features of a tf.train.Example");
    }
    for_each_field(reader.block(), [&](uint64_t entry, uint64_t entry_type, WireReader& entries) {
      if (entry != 1) return false;
      if (entry_type != kLengthDelimited) throw broken_example("it holds no map");
      features_.push_back(read_entry(entries.block()));
      return true;
    });
    return true;
  });
  std::ranges::stable_sort(features_, {}, &TfFeature::name);
  // The last of equal names.
  const auto rest =
      std::unique(features_.rbegin(), features_.rend(),
                  [](const TfFeature& a, const TfFeature& b) { return a.name == b.name; });
  features_.erase(features_.begin(), rest.base());
}

const TfFeature* TfExample::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(features_, name, {}, &TfFeature::name);
  return found == features_.end() || found->name != name ? nullptr : &*found;
}

Shapes read_tfds_shapes(const fs::path& path, std::string_view json) {
  Shapes shapes;
  try {
    add_shapes(FeatureJson::parse(json), "", {}, 0, shapes);
  } catch (const FeatureJson::exception& error) {
    throw source_error(path, ErrorCode::corrupt,
                       "the file is not a features.json of TensorFlow Datasets ({}); remove it to "
                       "take the shapes of tensors from the records",
                       error.what());
  } catch (const Error& error) {
    throw error.within({.path = path});
  }
  return shapes;
}

std::map<std::string, int64_t> read_tfds_counts(const fs::path& path, std::string_view json) {
  std::map<std::string, int64_t> counts;
  try {
    const FeatureJson info = FeatureJson::parse(json);
    for (const FeatureJson& split : info.value("splits", FeatureJson::array())) {
      // Old files count otherwise.
      if (!split.contains("shardLengths")) continue;
      int64_t& count = counts[split.at("name").get<std::string>()];
      for (const FeatureJson& length : split.at("shardLengths")) count += tfds_number(length);
    }
  } catch (const FeatureJson::exception& error) {
    throw source_error(path, ErrorCode::corrupt,
                       "the file is not a dataset_info.json of TensorFlow Datasets ({}); remove it "
                       "if ffkit does not need to compare the records with it",
                       error.what());
  } catch (const Error& error) {
    throw error.within({.path = path});
  }
  return counts;
}

std::vector<std::string> find_tfds_classes(const fs::path& records, const std::string& feature) {
  std::string name = feature;
  std::ranges::replace(name, '/', '-');
  const std::optional<fs::path> file = file_beside(records, name + ".labels.txt");
  if (!file) return {};
  return read_class_list(*file);
}

std::span<const std::byte> checked_tfrecord(std::span<const std::byte> data_and_crc) {
  if (data_and_crc.size() < kTfRecordCrcBytes)
    throw Error(ErrorCode::corrupt, "the record is cut short");
  const auto data = data_and_crc.first(data_and_crc.size() - kTfRecordCrcBytes);
  if (masked_crc(data) != little_endian<uint32_t>(data_and_crc.last(kTfRecordCrcBytes))) {
    throw Error(ErrorCode::corrupt, "the record is damaged: the checksum of its data is wrong");
  }
  return data;
}

TfRecordPlaces scan_tfrecords(const fs::path& path, int64_t num_bytes, const ReadBytes& read,
                              int64_t max_bytes, const UseTfRecord& use) {
  TfRecordPlaces places;
  std::vector<FileRange>& records = places.records;
  FileWindow window(num_bytes, read, kTfWindowBytes, kTfWindowBytes);
  for (int64_t offset = 0; offset < num_bytes;) {
    // Nothing says where a record behind this place begins.
    const auto end_here = [&](const std::string& what) {
      if (records.empty()) {
        throw source_error(path, ErrorCode::corrupt, "record 0 {}; get the file again", what);
      }
      places.damage = fmt::format(
          "the record {}, so ffkit cannot read it and the rest of the file ({} bytes); get the "
          "file again",
          what, num_bytes - offset);
      use(std::ssize(records), {});
      records.push_back({offset, num_bytes - offset});
      return places;
    };
    const auto header = window.at(offset, kTfHeaderBytes);
    if (header.size() < kTfHeaderBytes) {
      if (offset == 0) throw no_tfrecord_error(path, window.at(0, kContentHeadBytes));
      return end_here("is cut short");
    }
    if (masked_crc(header.first(sizeof(uint64_t))) !=
        little_endian<uint32_t>(header.last(kTfRecordCrcBytes))) {
      if (offset == 0) throw no_tfrecord_error(path, window.at(0, kContentHeadBytes));
      return end_here("has a damaged length");
    }
    const auto length = little_endian<uint64_t>(header);
    const int64_t data = offset + static_cast<int64_t>(kTfHeaderBytes);
    const int64_t left = num_bytes - data;
    if (left < static_cast<int64_t>(kTfRecordCrcBytes) ||
        length > static_cast<uint64_t>(left) - kTfRecordCrcBytes) {
      return end_here(
          fmt::format("is cut short: it needs {} bytes and {} bytes for its checksum, but only {} "
                      "bytes are left in the file",
                      length, kTfRecordCrcBytes, left));
    }
    const FileRange range{data, static_cast<int64_t>(length + kTfRecordCrcBytes)};
    use(std::ssize(records), range.num_bytes > max_bytes
                                 ? std::span<const std::byte>()
                                 : window.at(data, static_cast<size_t>(range.num_bytes)));
    records.push_back(range);
    offset = data + range.num_bytes;
  }
  return places;
}

}  // namespace ffkit
