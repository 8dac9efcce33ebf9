// A data set of MosaicML Streaming. After 'i', the first line is index.json and the rest a shard;
// otherwise all is a shard of the columns below.
#include <span>
#include <string_view>

#include "rows/source_of_files.h"
#include "sources/rows/mds_builder.h"

namespace {

const ffkit::testing::MdsBuilder& all_columns() {
  static const auto columns = ffkit::testing::MdsBuilder()
                                  .add_column("array", "ndarray")
                                  .add_column("fixed", "ndarray:uint8:2,2", 4)
                                  .add_column("frames", "jpeg_array")
                                  .add_column("json", "json")
                                  .add_column("list", "list[pil]")
                                  .add_column("number", "int32", 4)
                                  .add_column("pixels", "pil")
                                  .add_column("text", "str_int")
                                  .add_column("typed", "ndarray:float32");
  return columns;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string index;
  if (data[0] == 'i') {
    index = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), index.size() + 1));
  } else {
    index = ffkit::testing::MdsBuilder::index({all_columns().entry(
        "s.mds", static_cast<int64_t>(rest.size()), ffkit::fuzzing::rows_counted_in(rest))});
  }
  ffkit::fuzzing::write_in_memory("index.json", index);
  ffkit::fuzzing::write_in_memory("s.mds", rest);
  ffkit::fuzzing::read_source(ffkit::open_mds);
  return 0;
}
