#include "imagenet/imagenet_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include <ffkit/base/option_names.h>

#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "imagenet/imagenet_classes.h"
#include "imagenet/imagenet_lists.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMapping = "LOC_synset_mapping.txt";
constexpr const char* kValSolution = "LOC_val_solution.csv";
constexpr int64_t kMaxListBytes = 64 << 20;  // Kaggle's have less than 3 MB

Synsets shipped_classes() {
  Synsets synsets;
  for (const ImageNetClass& one : imagenet_classes()) {
    synsets.wnids.emplace_back(one.wnid);
    synsets.words.emplace_back(one.words);
  }
  return synsets;
}

// 7 for "ILSVRC2012_val_00000007", whatever the case of its letters; 0 for anything else.
size_t number_of_val_picture(std::string_view stem) {
  constexpr std::string_view kPrefix = "ilsvrc2012_val_";
  constexpr size_t kNumDigits = 8;
  if (stem.size() != kPrefix.size() + kNumDigits) return 0;
  const auto is_same = [](char c, char lower) {
    return std::tolower(static_cast<unsigned char>(c)) == lower;
  };
  if (!std::ranges::equal(stem.substr(0, kPrefix.size()), kPrefix, is_same)) return 0;
  size_t number = 0;
  const auto [end, error] =
      std::from_chars(stem.data() + kPrefix.size(), stem.data() + stem.size(), number);
  return error == std::errc{} && end == stem.data() + stem.size() ? number : 0;
}

// Line i of the devkit's list is of the picture with the number i, from 1. By position in the
// folder, one renamed picture would shift the labels of all behind it.
void label_by_number(std::vector<ImageEntry>& entries, const std::vector<int64_t>& labels,
                     const fs::path& where) {
  std::vector<const ImageEntry*> picture_of(labels.size() + 1, nullptr);
  for (ImageEntry& entry : entries) {
    const size_t number = number_of_val_picture(fs::path(entry.id).stem().string());
    const auto refuse = [&](const std::string& what) {
      throw source_error(
          where, ErrorCode::invalid_argument,
          "'{}' {}; give the pictures the names they came with, or take this one away", entry.id,
          what);
    };
    if (number == 0) {
      refuse("is not named ILSVRC2012_val_ and 8 digits, by which the devkit's labels go");
    }
    if (number > labels.size()) {
      refuse(fmt::format("has a number beyond the {} labels of the devkit", labels.size()));
    }
    if (picture_of[number] != nullptr) {
      refuse(fmt::format("has the same number as '{}'", picture_of[number]->id));
    }
    picture_of[number] = &entry;
    entry.label = labels[number - 1];
  }
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
    classes_ = parse_synset_mapping(read_source_text(*mapping, kMaxListBytes), mapping->string());
    origin_ = kMapping;
  } else {
    classes_ = shipped_classes();
    origin_ = "ffkit's table";
  }
}

int64_t ImageNetLabels::label_of(const std::string& wnid, const fs::path& where) const {
  const int64_t label = classes_.label_of(wnid);
  if (label < 0) {
    throw source_error(where, ErrorCode::invalid_argument,
                       "'{}' is not one of the {} classes of {}; take it away, or convert folders "
                       "of other classes with 'ffconvert folder'",
                       wnid, classes_.wnids.size(), origin_);
  }
  return label;
}

ImageNetLabels::ValLabels ImageNetLabels::label_val(std::vector<ImageEntry>& entries,
                                                    const fs::path& where,
                                                    bool allow_partial) const {
  if (val_solution_) {
    const auto labels = parse_val_solution(read_source_text(*val_solution_, kMaxListBytes),
                                           classes_, val_solution_->string());
    for (ImageEntry& entry : entries) {
      const auto label = labels.find(fs::path(entry.id).stem().string());
      if (label == labels.end()) {
        throw source_error(where, ErrorCode::not_found,
                           "'{}' is not in {}; is it a validation picture?", entry.id,
                           kValSolution);
      }
      entry.label = label->second;
    }
    return {kValSolution, std::ssize(labels) - std::ssize(entries)};
  }
  if (!devkit_) {
    throw source_error(where, ErrorCode::not_found,
                       "the labels of the validation pictures are missing: leave the pictures out "
                       "with {}, use Kaggle's {}, or put {} beside it",
                       option_set("splits", "train"), kValSolution, kDevkitArchive);
  }
  label_by_number(entries, devkit_->val_labels, where);
  const int64_t num_missing = std::ssize(devkit_->val_labels) - std::ssize(entries);
  if (num_missing > 0 && !allow_partial) {
    throw source_error(where, ErrorCode::invalid_argument,
                       "holds {} pictures, but the devkit has labels for {}: get the others, or "
                       "take what is there with {}",
                       entries.size(), devkit_->val_labels.size(), option_on("allow_partial"));
  }
  return {"the devkit", num_missing};
}

}  // namespace ffkit
