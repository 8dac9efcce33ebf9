// ImageSource: the Source over pictures with labels that lie in files or in uncompressed archives.
// What differs between data sets is how the list is made (imagenet_kind.cpp, folder_kind.cpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

#include "archives/tar_index.h"
#include "converter/input/input_file.h"
#include "format/content_kind.h"

namespace ffkit {

struct ImageEntry {
  // modified_ns of a file that is a link to nothing: a bad sample, which read() says.
  static constexpr int64_t kDanglingLink = std::numeric_limits<int64_t>::min();

  static constexpr int64_t kNoLabel = -1;

  std::string id;            // relative to ImageSplit::path when the pictures are files
  int64_t label = kNoLabel;  // the position of its class in ImageSet::classes
  // The position of its class folder or archive among those that were listed; 0 where pictures lie
  // flat.
  size_t folder = 0;
  FileRange data;           // in the archive; of a file: from 0, and as long as it was when listed
  int64_t modified_ns = 0;  // of a file, when listed
  ContentKind kind = ContentKind::jpeg;  // picture_kind_of()
};

// An archive of one class, beside folders of others.
struct ClassArchive {
  std::filesystem::path path;
  FileStamp stamp;  // when it was listed
};

struct ImageSplit {
  std::string name;
  bool is_training = false;
  std::filesystem::path path;                // the folder, or the archive
  std::shared_ptr<const InputFile> archive;  // null when the pictures are files
  // Without `archive`: the pictures of these folders (ImageEntry::folder) lie in archives below
  // `path`, and those of others in files.
  std::map<size_t, ClassArchive> class_archives;
  std::vector<ImageEntry> entries;
  // Of a set of several labels a picture: by ImageEntry::id.
  std::map<std::string, std::vector<int64_t>> labels;
};

struct ImageSet {
  std::string kind;
  std::filesystem::path path;
  std::vector<std::string> classes;
  std::vector<std::string> class_names;
  // The field `labels`, a tensor i64 [n] of ImageSplit::labels, stands for `label`.
  bool is_multi_label = false;
  std::vector<ImageSplit> splits;
  std::vector<std::string> notes;
  std::vector<std::filesystem::path> roots;  // Source::roots()
  ImageStorage storage;
};

// Throws Error(not_found) for a set without a split and for a split without pictures, and
// Error(unsupported) for a class whose name is not UTF-8. A picture whose id is not UTF-8 is a bad
// sample: read() throws.
std::unique_ptr<Source> make_image_source(ImageSet set);

}  // namespace ffkit
