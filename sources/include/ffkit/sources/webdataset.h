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
// once, into temporary files. The split is the folder, or what the names say:
// imagenet-train-{000000..000146}.tar; else all is "train". Samples are the members whose names are
// equal up to the first dot; by extension they become
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
  // samples that lack a member which others have get a null field; otherwise that is an error
  bool allow_missing = false;
  // Pictures whose names end in numbers, such as 0001.jpg or depth_0001.png, are frames of a video:
  // a list in the order of their numbers, the field "frames" or "depth/frames". Otherwise each of
  // them is a field.
  bool numbered_frames = false;
  // The most bytes of a sample's members together, >= 1 KiB; a larger sample is a bad one. Each
  // thread holds a sample in memory.
  int64_t max_sample_bytes = 1LL << 30;
  StoreAs store = StoreAs::jpeg;  // or dct; pictures stay as they are otherwise
  ExifUse exif = ExifUse::ignore;
  // For compressed tars: where they are decompressed, as SourceArguments::temporary_folder, and
  // what ends that.
  std::filesystem::path temporary_folder;
  const std::atomic<bool>* cancel = nullptr;
  // The extension, "id.txt", of the members whose text is the sample's id, and that are no field. A
  // sample without one has its key. Empty: all ids are keys.
  std::string id_member;
  // The member of the samples' .json that is their label: a number, or the name of a class. Empty:
  // the label is the member .cls, if there is one.
  std::string label_key;
  const GroupOfFiles* group = nullptr;  // the tars that are taken; null: all
};
std::unique_ptr<Source> open_webdataset(const std::filesystem::path& path,
                                        const WebDatasetOptions& options = {});
FileListing webdataset_files(const std::filesystem::path& path,
                             const WebDatasetOptions& options = {});

}  // namespace ffkit
