// What the source tfrecord reads. The first byte says as what the rest is read: a file of records,
// a tf.train.Example, features.json.
#include <limits>

#include "sources/tfrecord/tfrecord_file.h"
#include "touch.h"

namespace {

void read_example(std::span<const std::byte> message) {
  ffkit::TfExample example;
  example.parse(message);
  for (const ffkit::TfFeature& feature : example.features()) {
    if (example.find(feature.name) != &feature) std::abort();
    if (feature.kind == ffkit::TfKind::bytes) {
      if (feature.pieces.size() != feature.num_values) std::abort();
      for (const std::span<const std::byte> value : feature.pieces) ffkit::fuzzing::touch(value);
    } else if (feature.kind == ffkit::TfKind::floats) {
      std::vector<float> values(feature.num_values);
      feature.read_floats(values);
    } else if (feature.kind == ffkit::TfKind::integers) {
      std::vector<int64_t> values(feature.num_values);
      feature.read_integers(values);
    }
  }
}

void scan(std::span<const std::byte> file) {
  const auto read = [file](int64_t offset, std::span<std::byte> out) {
    const auto from = file.subspan(static_cast<size_t>(offset), out.size());
    std::ranges::copy(from, out.begin());
  };
  const auto use = [](int64_t, std::span<const std::byte> data_and_crc) {
    ffkit::fuzzing::attempt([&] { read_example(ffkit::checked_tfrecord(data_and_crc)); });
  };
  const auto places = ffkit::scan_tfrecords("file", std::ssize(file), read,
                                            std::numeric_limits<int64_t>::max(), use);
  int64_t end = 0;
  for (const ffkit::FileRange& record : places.records) {
    if (record.offset < end) std::abort();
    end = record.offset + record.num_bytes;
  }
  if (end != std::ssize(file)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data, size)).subspan(1);
  ffkit::fuzzing::attempt([&] {
    if (data[0] == '0') scan(rest);
    if (data[0] == '1') read_example(rest);
    if (data[0] == '2') {
      ffkit::read_tfds_shapes("json", {reinterpret_cast<const char*>(rest.data()), rest.size()});
    }
  });
  return 0;
}
