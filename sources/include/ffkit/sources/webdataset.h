// Tar shards of samples. Throws Error with file, reason and remedy.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// Shards of the webdataset package: a folder of tar files, of folders of them (train/*.tar), or one
// tar, read in place. Compressed ones (.tar.gz, .tgz, .tar.zst, .tar.bz2, .tar.xz) are decompressed
// once into temporary files. The split comes from the folder or the file name
// (imagenet-train-{000000..000146}.tar); otherwise it is "train". Members with the same name up to
// the first dot are a sample; by extension they become
//
//   jpg png ..   image      the field `image`; seg.png is `seg/image`; several pictures that would
//                           be one field keep their extensions
//   cls          label      scalar i64, a column
//   json, txt    string     `json`, `txt`
//   npy          tensor     `npy`; depth.npy is `depth/npy`
//   others       bytes      named by the extension
//
// Id: the key, "000123", or the text of the member `id_member`. Classes: the lines of `classes`, or
// none, and then labels are any integers.
struct WebDatasetOptions {
  std::filesystem::path classes;  // file with the name of one class a line; empty: none
  // if a sample lacks a member that others have, its field is null instead of an error
  bool allow_missing = false;
  // Pictures whose names end in numbers, such as 0001.jpg or depth_0001.png, are frames of a video:
  // a list in the order of the numbers, the field "frames" or "depth/frames". False: each of them
  // is a field.
  bool numbered_frames = false;
  // Largest size of a sample in bytes, >= 1 KiB; a larger one is a bad sample. Each thread keeps a
  // sample in memory.
  int64_t max_sample_bytes = 1LL << 30;
  StoreAs store = StoreAs::jpeg;  // or dct; pictures stay as they are otherwise
  ExifUse exif = ExifUse::ignore;
  // For compressed tars: the folder for decompressed files, like SourceArguments::temporary_folder,
  // and the flag that stops this.
  std::filesystem::path temporary_folder;
  const std::atomic<bool>* cancel = nullptr;
  // The extension, "id.txt", of members whose text is the id of the sample; they are not fields.
  // Without it, the id is the key. Empty: all ids are keys.
  std::string id_member;
  // The member of each sample's .json with the label: a number, or the name of a class. Empty: the
  // label is the member .cls, if there is one.
  std::string label_key;
  const GroupOfFiles* group = nullptr;  // the tars that are taken; null: all
};
std::unique_ptr<Source> open_webdataset(const std::filesystem::path& path,
                                        const WebDatasetOptions& options = {});
FileListing webdataset_files(const std::filesystem::path& path,
                             const WebDatasetOptions& options = {});

}  // namespace ffkit
