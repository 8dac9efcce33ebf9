// The form "files": each record as files of its own. Where the fields of a record go:
//
//   image classification       <split>/<class>/<file name from id>, with the ending of what it was
//                              made when it was stored
//   every other schema         <split>/<record number>/<field>.<ext>
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <ffkit/format/record.h>

#include "export/exported.h"
#include "text/output.h"

namespace ffkit {

struct ExportFile {
  std::string path;  // relative, safe: stays within the destination
  FieldFile content;
  int64_t record_index = 0;  // of the split
};

// Whether `path` is relative and leads nowhere but down.
bool is_safe_path(std::string_view path);
// Throws Error(invalid_argument) unless it is; `what` begins the sentence: "the id".
void require_safe_path(const ExportSource& source, std::string_view path, std::string_view what,
                       int64_t record_index = -1);
// Whether the name ends as picture files do, "a.JPEG".
bool has_image_extension(std::string_view name);
// Whether there are an image, an integer 'label' and at most a string 'id'.
bool is_classification_schema(const Schema& schema);

// Names the files of one split's records, which must come in order. `source` must outlive it. Not
// thread-safe.
class ExportNames {
 public:
  // Throws Error(invalid_argument) when the split's or a field's name cannot be a folder's.
  explicit ExportNames(const ExportSource& source);

  // The files of the next record; null fields have none. Their content points into `record`. Throws
  // Error(invalid_argument) when an id or a class would lead out of its folder.
  std::vector<ExportFile> next(int64_t record_index, const RecordView& record);

  // Files that got "-2", "-3", ... because an earlier record of the class has the same name: record
  // number and path.
  const std::map<int64_t, std::string>& renamed() const { return renamed_; }
  // Of image classification: the folder of each class, by label. No two are the same, and none is a
  // path.
  const std::vector<std::string>& class_folders() const { return class_folders_; }
  // Which of them are not called as their class, and whether those that have files would get other
  // numbers.
  std::vector<ExportNote> notes() const;

 private:
  void name_classes();
  std::string classified_path(int64_t record_index, const RecordView& record);
  std::string unique(int64_t record_index, const std::string& path);
  std::string record_number(int64_t record_index) const;

  const ExportSource& source_;
  bool is_classification_ = false;
  bool is_encoded_anew_ = false;  // some JPEGs may be
  size_t image_field_ = 0;
  std::vector<std::string> class_folders_;
  std::vector<std::string> renamed_classes_;
  std::map<std::string, int64_t> label_of_folder_;  // of those that have files
  int digits_ = 1;
  std::unordered_set<std::string> taken_;
  std::map<int64_t, std::string> renamed_;
};

// Writes the records into folders below `destination`. Throws what ExportNames does, Error(io).
ExportedSplit export_files(const ExportSource& source, const std::filesystem::path& destination);

}  // namespace ffkit
