#include "imagenet_labels.h"

#include <fmt/format.h>

#include <utility>

#include <ffkit/format/error.h>

#include "imagenet_classes.h"
#include "input_file.h"
#include "kaggle_lists.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMapping = "LOC_synset_mapping.txt";
constexpr const char* kValSolution = "LOC_val_solution.csv";
constexpr int64_t kMaxListBytes = 64 << 20;  // Kaggle's have less than 3 MB

std::string read_list(const fs::path& path) {
  const std::vector<std::byte> bytes = read_whole(path, kMaxListBytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Synsets shipped_classes() {
  Synsets synsets;
  for (const ImageNetClass& one : imagenet_classes()) {
    synsets.wnids.emplace_back(one.wnid);
    synsets.words.emplace_back(one.words);
  }
  return synsets;
}

}  // namespace

ImageNetLabels::ImageNetLabels(const ImageNetLayout& layout)
    : val_solution_(find_list(layout, kValSolution)) {
  for (const fs::path& folder : layout.list_folders) {
    if (!devkit_) devkit_ = find_devkit(folder);
  }
  if (devkit_) {
    classes_ = devkit_->synsets;
    origin_ = "the devkit";
  } else if (const auto mapping = find_list(layout, kMapping)) {
    classes_ = parse_synset_mapping(read_list(*mapping), mapping->string());
    origin_ = kMapping;
  } else {
    classes_ = shipped_classes();
    origin_ = "ffkit's table";
  }
}

int64_t ImageNetLabels::label_of(const std::string& wnid, const fs::path& where) const {
  const int64_t label = classes_.label_of(wnid);
  if (label < 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is not one of the {} classes of {}; take it away, or convert "
                            "folders of other classes with 'ffconvert folder'",
                            wnid, classes_.wnids.size(), origin_),
                {.path = where.string()});
  }
  return label;
}

std::string ImageNetLabels::label_val(std::vector<ImageEntry>& entries,
                                      const fs::path& where) const {
  if (val_solution_) {
    const auto labels =
        parse_val_solution(read_list(*val_solution_), classes_, val_solution_->string());
    for (ImageEntry& entry : entries) {
      const auto label = labels.find(fs::path(entry.id).stem().string());
      if (label == labels.end()) {
        throw Error(
            ErrorCode::not_found,
            fmt::format("'{}' is not in {}; is it a validation picture?", entry.id, kValSolution),
            {.path = where.string()});
      }
      entry.label = label->second;
    }
    return kValSolution;
  }
  if (!devkit_) {
    throw Error(ErrorCode::not_found,
                fmt::format("the labels of the validation pictures are missing: leave the pictures "
                            "out with --splits train, use Kaggle's {}, or put {} beside it",
                            kValSolution, kDevkitArchive),
                {.path = where.string()});
  }
  if (entries.size() != devkit_->val_labels.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("holds {} pictures, but the devkit has labels for {}: they do not "
                            "belong together, or pictures are missing; get both again",
                            entries.size(), devkit_->val_labels.size()),
                {.path = where.string()});
  }
  for (size_t i = 0; i < entries.size(); ++i) entries[i].label = devkit_->val_labels[i];
  return "the devkit";
}

}  // namespace ffkit
