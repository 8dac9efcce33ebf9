// ListedSource: a source that keeps what its constructor listed. ListedPictures: one that stores
// pictures.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit {

class ListedSource : public Source {
 public:
  const std::vector<SourceSplit>& splits() const override { return infos_; }
  Schema schema() const override { return schema_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  const std::vector<ClassId>& class_ids() const override { return class_ids_; }
  const std::vector<std::string>& notes() const override { return notes_; }

 protected:
  std::vector<SourceSplit> infos_;
  Schema schema_;
  std::vector<std::string> classes_;
  std::vector<std::string> class_names_;
  std::vector<ClassId> class_ids_;
  std::vector<std::string> notes_;
};

class ListedPictures : public ListedSource {
 public:
  std::map<std::string, std::string> options() const override {
    return manifest_options(storer_.storage());
  }
  bool checks_headers_only() const override { return storer_.checks_headers_only(); }

 protected:
  explicit ListedPictures(const ImageStorage& storage) : storer_(storage) {}

  const ImageStorer storer_;
};

}  // namespace ffkit
