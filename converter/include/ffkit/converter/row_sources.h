// Sources that are tables of rows in other libraries' files. Their columns become fields:
//
//   the picture   field `image`, first       the column that is named, or the only one of pictures
//   the label     field `label`, scalar i64, the column that is named, or the one of whole numbers
//                 a column                   that has classes, or is called label, class or target
//   the id        field `id`, string, last   the column that is named, or the row's place:
//                                            "train-00000.tfrecord: 17"
//   others        under their own names      scalars are columns of the index
//
// The notes say which was taken. Pictures keep their bytes. Splits are folders, or what the files'
// names say ("train-00000-of-00016"); "validation" and "valid" become "val". Each source reads the
// files where they are; those that are compressed as a whole are decompressed once, into temporary
// files without names.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>
#include <ffkit/format/option_table.h>

namespace ffkit {

struct RowOptions {
  std::string image_column;  // the one that becomes `image`; empty: the only one of pictures
  std::string label_column;  // the one that becomes `label`; empty: see above
  std::string id_column;     // the one that becomes `id`; empty: the row's place
  std::vector<std::string> columns;  // to take beside these; empty: all
  int64_t label_offset = 0;          // added to labels: -1 where they count from 1
  // File with the name of one class a line; empty: what the files say, if anything.
  std::filesystem::path classes;
  // The most bytes of a row in its file, >= 1 KiB; a larger one is a bad sample. Each thread holds
  // a row in memory.
  int64_t max_sample_bytes = 1LL << 30;
  StoreAs store = StoreAs::jpeg;  // or dct; pictures stay as they are otherwise
  ExifUse exif = ExifUse::ignore;
  int num_threads = 0;                        // that look at all rows; 0: one for each core
  std::filesystem::path temporary_folder;     // for decompressed files; empty: $TMPDIR or /tmp
  const std::atomic<bool>* cancel = nullptr;  // once set, listing ends with Error(cancelled)
};
// Declares those that a user gives: all but store, exif and the last three.
void describe(RowOptions& options, OptionTable& table);

// TFRecord files of tf.train.Example: a folder of them, of folders of them, or one file. Their
// names hold ".tfrecord" or end in "-00000-of-01024". Each record's length and data are checked
// by their CRC-32C. The features of all rows tell the columns:
//
//   bytes    one a row: pictures where all are, else text where all is UTF-8, else bytes; several:
//            a list
//   int64    one a row: scalar i64; several: tensor i64
//   float    one a row: scalar f32; several: tensor f32
//
// A feature that a row lacks, or that is empty, is an empty tensor or list, or null where others
// have one value; a note counts these rows. Beside TensorFlow Datasets' files, features.json tells
// shapes and *.labels.txt the classes.
std::unique_ptr<Source> open_tfrecord(const std::filesystem::path& path,
                                      const RowOptions& options = {});

// Parquet files, by Arrow's library (parquet_module.h, or Python's pyarrow): a folder of them, of
// folders of them, or one file. Columns are those of the schema:
//
//   numbers, bool            scalar; lists of them a tensor [n]; lists of lists a tensor where all
//                            rows are regular, else a list of tensors
//   text, bytes              string, bytes; lists of them a list
//   struct                   its members: "objects/bbox"; of a list of structs each is a list
//   struct<bytes, path>      a picture, and its path, as Hugging Face's datasets have it
//
// Bytes are pictures where Hugging Face's metadata say so, or most of the first rows begin as one.
// ClassLabel names the classes. Other types are left out, with a note. Rows are read in their order
// alone, in batches of about 16 MiB: another order goes through temporary files beside the shards.
// Throws Error(unsupported) where nothing reads parquet files.
std::unique_ptr<Source> open_parquet(const std::filesystem::path& path,
                                     const RowOptions& options = {});

}  // namespace ffkit
