// WebDataset shards: the members of a tar file grouped into samples.
//
//   000123.jpg  000123.cls  000124.jpg  000124.cls      two samples, "000123" and "000124", of
//                                                       members "jpg" and "cls"
//
// As the webdataset package has it: a sample's key is the path up to the first dot of the file's
// name, the rest, in lower case, is the member's extension ("seg.png"); a sample's members lie side
// by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <ffkit/converter/source.h>

#include "archives/tar_index.h"
#include "files/decompressed_files.h"
#include "files/file_group.h"

namespace ffkit {

struct WebDatasetMember {
  uint32_t extension = 0;  // in WebDatasetShard::extensions
  FileRange data;
};

struct WebDatasetSample {
  std::string key;
  size_t num_members = 0;  // that follow one another in WebDatasetShard::members
};

struct WebDatasetShard {
  std::vector<std::string> extensions;  // in order of appearance
  std::vector<WebDatasetSample> samples;
  std::vector<WebDatasetMember> members;
  int64_t num_ignored = 0;  // names without extension, hidden ones, and webdataset's own "__..__"
};

// Throws as index_tar() does, and Error(invalid_argument) for a sample whose members are scattered
// or that has two of the same extension. The tar is in `range` of `file`, which is the file at
// `path` or was made of it.
WebDatasetShard list_webdataset_shard(const std::filesystem::path& path, const InputFile& file,
                                      FileRange range, size_t num_beside);

// WebDataset fields: what becomes of a sample's members, by their extensions.
//
//   jpg jpeg png webp ppm pgm bmp tif tiff  image         the field `image`
//   cls                                     scalar i64    the field `label`
//   json txt                                string
//   npy                                     tensor        its dtype is that of the first sample
//   anything else                           bytes
//
// A field is called as its extension where nothing else is said, with "/" for ".": "seg.png" is
// `seg/image`, "depth.npy" `depth/npy`. Where a sample has several pictures that would be one field
// (jpg and png), all of them keep their extensions: `jpg`, `png`. Numbered pictures, "0001.jpg" or
// "depth_0001.png", may be frames, items of a list: `frames`, `depth/frames`.

enum class WebDatasetKind : uint8_t { image, frames, label, text, tensor, bytes };

WebDatasetKind kind_of_extension(const std::string& extension);

// The field that members of `extension` become; `keeps_extension` for pictures that share a sample
// with another.
std::string field_of_extension(const std::string& extension, bool keeps_extension);

// Of a member that is a numbered picture: the list that it belongs to, and its number.
struct FrameName {
  std::string field;
  uint64_t number = 0;
};
// Nothing for other members. Numbers have up to 18 digits.
std::optional<FrameName> frame_of_extension(const std::string& extension);

struct WebDatasetField {
  std::string name;
  WebDatasetKind kind = WebDatasetKind::bytes;
  DType dtype = DType::u8;  // of tensors

  Field field() const;
};

// Of a field of bytes, whose first member begins with `head`: makes it one of pictures where these
// are some, called `image` unless there `is_image` already. Returns a note, or nothing for others.
std::string settle_picture(WebDatasetField& field, std::span<const std::byte> head, bool is_image);

// All of `files`, side by side, those that are compressed from where they were decompressed to.
std::vector<WebDatasetShard> list_webdataset_shards(const FileGroup& files,
                                                    const DecompressedFiles& decompressed);

// Adds the extensions of pictures that share a sample with a picture that would be the same field.
void find_rivals(const WebDatasetShard& shard, std::set<std::string>& rivals);

// Of the first group of tars (ConvertOptions::by_files).
struct FoundMembers {
  std::vector<WebDatasetField> fields;
  std::map<std::string, std::string> names;  // extension to field
};
// What there is in later ones.
struct LaterMembers {
  const std::set<std::string>& extensions;
  const std::string& id_member;
  bool takes_frames = false;
};
// found.names, with those of frames that only later tars have. Throws Error(unsupported) for an
// extension that is of no field.
std::map<std::string, std::string> names_as_before(const FoundMembers& found,
                                                   const LaterMembers& later,
                                                   const std::vector<std::filesystem::path>& tars);

// Sets field `position`, which is no list, of `record` from a member's bytes, or from those that
// are stored of a picture, which must live until the record is encoded. A label is a number below
// that of `classes`, or the name of one; without classes, any number. Throws Error, without a path,
// for what the bytes cannot be.
void set_webdataset_field(RecordBuilder& record, size_t position, const WebDatasetField& field,
                          std::span<const std::byte> bytes,
                          const std::vector<std::string>& classes);
// The same of a label that is the member `key` of a JSON object.
void set_label_in_json(RecordBuilder& record, size_t position, const std::string& key,
                       std::span<const std::byte> json, const std::vector<std::string>& classes);

}  // namespace ffkit
