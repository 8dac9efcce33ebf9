// Seeds of files of other libraries, by the tests' builders.
#include <string>

#include "pictures.h"
#include "seeds/seeds.h"
#include "sources/rows/beton_builder.h"
#include "sources/rows/lmdb_builder.h"
#include "sources/rows/recordio_builder.h"
#include "whole_files.h"

namespace ffkit::fuzzing {
namespace {

namespace fs = std::filesystem;
using testing::BetonBuilder;
using testing::DatumBuilder;
using testing::jpeg_picture;
using testing::LmdbBuilder;
using testing::RecordIoBuilder;
using testing::write_file;

void make_recordio(const fs::path& folder) {
  const std::string magic = RecordIoBuilder::bytes_of(RecordIoBuilder::kMagic);
  const RecordIoBuilder images = RecordIoBuilder()
                                     .add_image({3}, 1, jpeg_picture(1))
                                     .add_image({1, 2}, 2, jpeg_picture(2))
                                     .add_image({5, 6}, 3, "");
  write_file(folder / "images", "r" + images.file());
  std::string parts = "head";
  parts += magic;
  parts += "tail";
  write_file(folder / "parts",
             "r" + RecordIoBuilder().add(parts).add(magic + magic).add("").file());
  write_file(folder / "damaged",
             "r" + RecordIoBuilder().add("one").add_bytes("xxxx").add("two").file());
  write_file(folder / "index", "i0\t0\nkey\t12\n2\t24\n");
  write_file(folder / "list", "l0\t0.000000\ta/b c.jpg\n1\t0\tb.jpg\r\n2\t0\tc\n");
}

void make_beton(const fs::path& folder) {
  BetonBuilder builder;
  builder.field("image", BetonBuilder::image)
      .field("label", BetonBuilder::integer)
      .field("blob", BetonBuilder::bytes)
      .field("array", BetonBuilder::array, BetonBuilder::array_arguments({2, 2}, "<i2"))
      .field("json", BetonBuilder::json);
  for (int row = 0; row < 3; ++row) {
    builder.add_image(row == 1 ? 1 : 0, 2, 2, row == 1 ? "twelve bytes" : jpeg_picture(row))
        .add_number(static_cast<uint64_t>(row))
        .add_bytes(std::string(static_cast<size_t>(row), 'x'))
        .add_array("8 bytes.")
        .add_bytes(std::string("{}\0", 3))
        .row();
  }
  write_file(folder / "beton", "b" + builder.file());
}

void make_lmdb(const fs::path& folder) {
  LmdbBuilder builder;
  builder.add("a", "one").add("b", jpeg_picture(1)).leaf();
  builder.add("k", std::string(300, 'x')).leaf();
  write_file(folder / "lmdb", "m" + builder.file());
  LmdbBuilder named;
  named.add("a", "one").add("b", "two").leaf();
  named.add("name", LmdbBuilder::tree(0, 2, 2), 2);
  named.leaves_are_main = false;
  named.set_num_entries(1);
  write_file(folder / "lmdb_named", "m" + named.file());
  write_file(folder / "datum",
             "d" + DatumBuilder().shape(3, 1, 2).data("BbGgRr").label(4).message());
  write_file(folder / "datum_file",
             "d" + DatumBuilder().data(jpeg_picture(1)).number(7, 1).label(1).message());
  write_file(folder / "datum_floats",
             "d" + DatumBuilder().shape(2, 1, 1).number_f32(1).number_f32(-2).message());
  write_file(folder / "datum_packed",
             "d" + DatumBuilder().shape(2, 1, 1).bytes(6, "12345678").message());
}

}  // namespace

void make_row_file_seeds(const fs::path& folder) {
  make_recordio(folder / "fuzz_row_files");
  make_beton(folder / "fuzz_row_files");
  make_lmdb(folder / "fuzz_row_files");
}

}  // namespace ffkit::fuzzing
