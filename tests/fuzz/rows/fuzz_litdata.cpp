// A data set of LitData. The first byte says what the rest is: 'i' index.json on a line and a
// chunk, 'f' a chunk with frames of zstd, 's' one of compressed samples, 'j' a value of the format
// "json", otherwise a chunk of the leaves below.
#include <span>
#include <string_view>

#include "rows/source_of_files.h"
#include "sources/litdata/litdata_format.h"
#include "sources/rows/litdata_builder.h"

namespace {

ffkit::testing::LitDataBuilder all_leaves() {
  return ffkit::testing::LitDataBuilder()
      .add_leaf("array", "numpy")
      .add_leaf("flag", "bool")
      .add_leaf("frames", "jpeg_array")
      .add_leaf("json", "json")
      .add_leaf("numbers", "no_header_tensor:15")
      .add_leaf("pixels", "pil")
      .add_leaf("real", "float")
      .add_leaf("tensor", "tensor");
}

// Chunks with frames say elsewhere how many samples they have.
int64_t samples_counted_in(char kind, std::string_view chunk) {
  if (kind != 'f') return ffkit::fuzzing::rows_counted_in(chunk);
  return chunk.size() < 16 ? 1 : ffkit::fuzzing::rows_counted_in(chunk.substr(12));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto kind = static_cast<char>(data[0]);
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (kind == 'j') {
    ffkit::fuzzing::attempt([&] {
      const std::string json = ffkit::litdata_json(rest);
      ffkit::fuzzing::touch(std::as_bytes(std::span(json)));
    });
    return 0;
  }
  std::string index;
  if (kind == 'i') {
    index = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), index.size() + 1));
  } else {
    auto builder = all_leaves();
    if (kind == 'f' || kind == 's') {
      builder.set("compression", "\"zstd\"")
          .set("compression_level", kind == 'f' ? "\"batch\"" : "\"sample\"");
    }
    index = builder.index(
        {ffkit::testing::LitDataBuilder::entry("c.bin", samples_counted_in(kind, rest))});
  }
  ffkit::fuzzing::write_in_memory("index.json", index);
  ffkit::fuzzing::write_in_memory("c.bin", rest);
  ffkit::fuzzing::read_source(ffkit::open_litdata);
  return 0;
}
