// ListedSource: a source that keeps what its constructor listed.
#pragma once

#include <string>
#include <vector>

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

}  // namespace ffkit
