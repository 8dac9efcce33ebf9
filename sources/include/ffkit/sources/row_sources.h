// Sources that are tables in files of other libraries. Their columns become fields:
//
//   the picture   field `image`, first       the column that is named, or the only one of pictures
//   the label     field `label`, scalar i64, the column that is named, or the one of whole numbers
//                 a column                   that has classes, or is called label, class or target
//   the id        field `id`, string, last   the column that is named, or the row's place:
//                                            "train-00000.tfrecord: 17"
//   others        under their own names      scalars are columns of the index
//
// The notes name the columns. Pictures keep their bytes. Splits come from folders or file names
// ("train-00000-of-00016"); "validation" and "valid" become "val". Files are read in place;
// compressed files are decompressed once into temporary files without names.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_table.h>
#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit {

struct RowOptions {
  std::string image_column;  // the one that becomes `image`; empty: the only one of pictures
  std::string label_column;  // the one that becomes `label`; empty: see above; "none": no one
  std::string id_column;     // the one that becomes `id`; empty: the row's place
  std::vector<std::string> columns;  // to take beside these; empty: all
  int64_t label_offset = 0;          // added to labels: -1 where they count from 1
  // File with one class name per line; empty: from the files, if they have names.
  std::filesystem::path classes;
  // Largest size of a row in its file, in bytes, >= 1 KiB; a larger row is a bad sample. Each
  // thread keeps a row in memory.
  int64_t max_sample_bytes = 1LL << 30;
  StoreAs store = StoreAs::jpeg;  // or dct; pictures stay as they are otherwise
  ExifUse exif = ExifUse::ignore;
  int num_threads = 0;                        // that look at all rows; 0: one for each core
  std::filesystem::path temporary_folder;     // for decompressed files; empty: $TMPDIR or /tmp
  const std::atomic<bool>* cancel = nullptr;  // once set, listing ends with Error(cancelled)
  // For open_mds(): first reads all shards and compares them with the hashes in their index.
  bool check_hashes = false;
  // For open_tfrecord(), open_parquet() and open_mds(): the files to use; null: all.
  const GroupOfFiles* group = nullptr;
};
// Declares the options that users can give for every kind: all except store, exif and the last
// five.
void describe(RowOptions& options, OptionTable& table);

// TFRecord files of tf.train.Example: a folder of them, of folders of them, or one file. Their
// names contain ".tfrecord" or end in "-00000-of-01024". Length and data of each record are checked
// by CRC-32C. The features of all rows determine the columns:
//
//   bytes    one a row: pictures where all are, else text where all is UTF-8, else bytes; several:
//            a list
//   int64    one a row: scalar i64; several: tensor i64
//   float    one a row: scalar f32; several: tensor f32
//
// If a row lacks a feature, or it is empty, the field is an empty tensor or list, or null if other
// rows have one value; a note counts these rows. In folders of TensorFlow Datasets, features.json
// gives the shapes and *.labels.txt the classes.
std::unique_ptr<Source> open_tfrecord(const std::filesystem::path& path,
                                      const RowOptions& options = {});
// The files of it, for RowOptions::group; also below.
FileListing tfrecord_files(const std::filesystem::path& path, const RowOptions& options = {});

// Parquet files, by Arrow's library (parquet_module.h, or Python's pyarrow): a folder of them, of
// folders of them, or one file. Columns are those of the schema:
//
//   numbers, bool            scalar; lists of them a tensor [n]; lists of lists a tensor where all
//                            rows are regular, else a list of tensors
//   text, bytes              string, bytes; lists of them a list
//   struct                   its members: "objects/bbox"; of a list of structs each is a list
//   struct<bytes, path>      a picture, and its path, as Hugging Face's datasets have it
//
// Bytes are pictures if Hugging Face's metadata says so, or most of the first rows begin like a
// picture. ClassLabel names the classes. Other types are left out, with a note. Rows can only be
// read in order, in batches of about 16 MiB; another order needs temporary files beside the shards.
// Throws Error(unsupported) if nothing can read parquet files.
std::unique_ptr<Source> open_parquet(const std::filesystem::path& path,
                                     const RowOptions& options = {});
FileListing parquet_files(const std::filesystem::path& path, const RowOptions& options = {});

// Shards of MosaicML Streaming (MDS), version 2: a folder with index.json, which is the split
// 'train', or a folder of such folders, which are splits. Samples are in the order of the index.
// Compressed shards (zstd, gz, bz2) are decompressed once, unless the plain shard exists, too.
// Encodings become:
//
//   jpeg, png, pil                image; pil's raw pixels as PPM or PNG
//   jpeg_array, list[...]         lists of pictures
//   int, uint8 ... float64        scalars; str_int i64, str_float f64
//   bytes, str, str_decimal, json bytes, and texts as they are
//   ndarray                       tensor; without a dtype in the index, that of the first sample
//
// Throws Error(unsupported) for pkl, which runs programs, unless columns leaves it out, and for
// shards that exist only in Brotli or Snappy. Always checks sizes; with options.check_hashes also
// the hashes of the index, except xxHash: Error(corrupt) for a wrong one.
std::unique_ptr<Source> open_mds(const std::filesystem::path& path, const RowOptions& options = {});
FileListing mds_files(const std::filesystem::path& path, const RowOptions& options = {});

// Chunks of LitData: folders as for open_mds(). Chunks may be compressed by zstd, as files, in
// frames or by sample. Each leaf of a sample's structure is a column: "a/b" in dictionaries, "0" in
// lists and tuples, "value" if the sample is a single leaf. Formats become:
//
//   jpeg, image, pil                       image, as for open_mds(); jpeg_array a list of them
//   int, float, bool                       scalars i64, f64, u8
//   str, text, json                        texts; json as it is written in JSON
//   tensor, numpy, no_header_...           tensors; without a dtype in the index, as for open_mds()
//   bytes, file, video, audio, mesh, ...   bytes
//
// Samples of a TokensLoader are tensors with the length with which they were written. Chunks that
// are Arrow tables, which LitData writes with pyarrow, need the reader of parquet, can only be read
// in order, and give the same columns; keys that the first sample lacks are columns, too. Throws
// Error(unsupported) for pickle and graph, which run programs, unless columns leaves them out; for
// encrypted chunks, layouts of other item loaders, and tables without a reader.
std::unique_ptr<Source> open_litdata(const std::filesystem::path& path,
                                     const RowOptions& options = {});

// RecordIO of MXNet: a .rec file, or a folder of them, as im2rec and MXIndexedRecordIO write them.
// If half or more of the records are pictures, with or without a header, records are pictures;
// otherwise bytes:
//
//   image      the picture                    data        the record, where it is other bytes
//   label      its label, where no picture    labels      f32 [n], its labels, where a picture has
//              has several: i64, or f32 for               several
//              all where one is no class
//   id         the name that the .lst beside has for the record's id and label; else the header's
//              id, where no two are equal; else the key of the .idx beside
//   record_id  u64, the header's id where it is not the id
//   id2        u64, where one is not 0
//
// If the places in a .idx do not match the records, that is Error(invalid_argument). A cut or
// damaged place is one bad sample; reading continues with the next good record.
std::unique_ptr<Source> open_recordio(const std::filesystem::path& path,
                                      const RowOptions& options = {});

// FFCV: a .beton or .ffcv file of version 2, or a folder of them. Every field is a column:
//
//   RGBImageField     image: the JPEG as it is, raw pixels as PPM, without a loss
//   IntField          scalar i64              NDArrayField, TorchTensorField   tensor
//   FloatField        scalar f64              JSONField                        string
//   BytesField        bytes
//
// A sample that FFCV failed to write, or whose bytes are not in the file, is a bad sample. Fields
// of user-defined types are Error(unsupported), because the file does not describe their bytes.
std::unique_ptr<Source> open_beton(const std::filesystem::path& path,
                                   const RowOptions& options = {});

enum class LmdbValue : uint8_t {
  automatic,  // pictures or Datum messages where half or more are, else bytes
  picture,
  datum,
  bytes,
  text,
};
template <>
inline constexpr auto kNames<LmdbValue> = enum_names<LmdbValue>("kind of values",
                                                                {{LmdbValue::automatic, "auto"},
                                                                 {LmdbValue::picture, "picture"},
                                                                 {LmdbValue::datum, "datum"},
                                                                 {LmdbValue::bytes, "bytes"},
                                                                 {LmdbValue::text, "text"}});
struct LmdbOptions {
  LmdbValue value = LmdbValue::automatic;
  bool is_rgb = false;  // planes of pixels in Datum messages: red first; else blue first
  RowOptions rows = {};
  std::string database = {};  // the named one that is taken; empty: the main one, or the only one
};
// Declares those that a user gives.
void describe(LmdbOptions& options, OptionTable& table);

// LMDB files: data.mdb or its folder, or a folder of such folders or of .mdb files. Entries in the
// order of their keys, which are the ids: UTF-8, numbers (MDB_INTEGERKEY), or "0x" and digits.
//
//   pictures         image; label, where all folders are called as LSUN's (bedroom_train_lmdb), -1
//                    for those in test_lmdb
//   Datum messages   image of a file or of pixels of one or three channels, else data, a tensor u8
//                    or f32 [channels, height, width]; label
//   others           data, bytes; or text
//   image-1, label-1 entries whose keys have a number in common are one row, where those of one
//                    word are pictures, and of the other words are not: image, and a field for each
//                    other word, text or bytes; the number is the id
//
// Files are read without a lock, so no program may write to them. A damaged or cut tree is
// Error(corrupt); a cut value is a bad sample. Pickled values, several values for a key, and
// several named databases without a choice are Error(unsupported).
std::unique_ptr<Source> open_lmdb(const std::filesystem::path& path,
                                  const LmdbOptions& options = {});

}  // namespace ffkit
