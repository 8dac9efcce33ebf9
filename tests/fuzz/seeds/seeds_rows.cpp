// Seeds of files of other libraries, whose rows are converted.
#include <string>

#include "converter/sources/rows/tf_example_builder.h"
#include "seeds/seeds.h"
#include "tar_builder.h"

namespace ffkit::fuzzing {
namespace {

namespace fs = std::filesystem;
using testing::write_file;

// The first byte says as what the rest is read (fuzz_tfrecord.cpp).
void make_tfrecords(const fs::path& folder) {
  using namespace testing;
  fs::create_directories(folder);
  const std::string example =
      tf_example(tf_bytes("image/encoded", {"\xFF\xD8\xFF\xE0 and so on"}) +
                 tf_integers("image/class/label", {300}) + tf_bytes("names", {"a", "", "b"}) +
                 tf_floats("bbox", {0.5F, 1, -2}) + tf_integers("none", {}) +
                 tf_feature("alone", 3, varint(8) + varint(5)) +
                 tf_feature("float", 2, varint(13) + little_bytes(1.5F)));
  write_file(folder / "file", "0" + tf_record(example) + tf_record("") + tf_record(example));
  write_file(folder / "example", "1" + example);
  write_file(folder / "features",
             R"(2{"featuresDict": {"features": {"label": {"classLabel": {"numClasses": "2"}},
 "t": {"tensor": {"shape": {"dimensions": ["2", "-1"]}, "dtype": "int64", "encoding": "none"}},
 "o": {"sequence": {"feature": {"featuresDict": {"features": {
  "b": {"boundingBox": {"shape": {"dimensions": ["4"]}, "dtype": "float32"}}}}}, "length": "-1"}}}}})");
}

}  // namespace

void make_row_seeds(const fs::path& folder) {
  make_tfrecords(folder / "fuzz_tfrecord");
}

}  // namespace ffkit::fuzzing
