#include "imagenet/imagenet_lists.h"

#include <algorithm>

#include <ffkit/base/option_names.h>

#include "archives/archive_reader.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/text_files.h"
#include "imagenet/imagenet_classes.h"

namespace ffkit {
namespace {

constexpr const char* kFolder = "ILSVRC2012_devkit_t12";
constexpr const char* kMeta = "data/meta.mat";
constexpr const char* kGroundTruth = "data/ILSVRC2012_validation_ground_truth.txt";
constexpr size_t kMaxMemberBytes = 64 << 20;  // the official ones have less than 2 MB

using Bytes = std::vector<std::byte>;

Devkit make_devkit(const fs::path& path, const Bytes& meta, const Bytes& ground_truth) {
  Devkit devkit{.path = path};
  devkit.synsets = parse_meta_mat(meta, (path / kMeta).string());
  devkit.val_labels =
      parse_ground_truth({reinterpret_cast<const char*>(ground_truth.data()), ground_truth.size()},
                         devkit.synsets, (path / kGroundTruth).string());
  return devkit;
}

Devkit read_archive(const fs::path& path) {
  const InputFile file(path);
  ArchiveReader reader(file, 0, file.size(), path.string(), ArchiveReader::Compression::gzip);
  std::optional<Bytes> meta;
  std::optional<Bytes> ground_truth;
  while (archive_entry* entry = reader.next()) {
    const std::string name = reader.checked_name(entry);
    if (name.ends_with(kMeta)) meta = reader.read_member(kMaxMemberBytes);
    if (name.ends_with(kGroundTruth)) ground_truth = reader.read_member(kMaxMemberBytes);
  }
  if (!meta || !ground_truth) {
    throw source_error(path, ErrorCode::corrupt,
                       "the archive has no file '{}'; download or copy the archive again",
                       meta ? kGroundTruth : kMeta);
  }
  return make_devkit(path, *meta, *ground_truth);
}

constexpr size_t kMaxQuoted = 40;  // of a line, in messages

[[noreturn]] void bad_line(const std::string& origin, int64_t number, std::string_view line,
                           const std::string& what) {
  throw source_error(origin, ErrorCode::corrupt, "line {}: '{}' {}; get the file from Kaggle again",
                     number, line.substr(0, kMaxQuoted), what);
}

// The first word of `text`, which is taken off with the spaces around it; empty at the end.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

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
  if (!begins_without_case(stem, kPrefix)) return 0;
  return number_of_text<size_t>(stem.substr(kPrefix.size())).value_or(0);
}

// Line i of the devkit's list is of the picture with the number i, from 1. By position in the
// folder, one renamed picture would shift the labels of all behind it.
void label_by_number(std::vector<ImageEntry>& entries, const std::vector<int64_t>& labels,
                     const fs::path& where) {
  std::vector<const ImageEntry*> picture_of(labels.size() + 1, nullptr);
  for (ImageEntry& entry : entries) {
    const size_t number = number_of_val_picture(fs::path(entry.id).stem().string());
    const auto refuse = [&](const std::string& what) {
      throw source_error(where, ErrorCode::invalid_argument,
                         "'{}' {}; give the pictures their original names, or remove this one",
                         entry.id, what);
    };
    if (number == 0) {
      refuse("is not named ILSVRC2012_val_ and 8 digits, as the labels of the devkit need");
    }
    if (number > labels.size()) {
      refuse(fmt::format(
          "has a number in its name that is larger than {}, the number of labels in the devkit",
          labels.size()));
    }
    if (picture_of[number] != nullptr) {
      refuse(fmt::format("has the same number as '{}'", picture_of[number]->id));
    }
    picture_of[number] = &entry;
    entry.label = labels[number - 1];
  }
}

}  // namespace

int64_t Synsets::label_of(const std::string& wnid) const {
  const auto found = std::ranges::lower_bound(wnids, wnid);
  return found != wnids.end() && *found == wnid ? found - wnids.begin() : -1;
}

std::vector<int64_t> parse_ground_truth(std::string_view text, const Synsets& synsets,
                                        const std::string& origin) {
  std::vector<int64_t> labels;
  for_each_line(text, [&](std::string_view line, int64_t number) {
    const auto id = number_of_text<int64_t>(line);
    const auto found = synsets.label_of_id.find(id.value_or(0));
    if (!id || found == synsets.label_of_id.end()) {
      throw source_error(origin, ErrorCode::corrupt,
                         "line {} is '{}', but must be the number of a class; get the devkit again",
                         number, line.substr(0, 40));
    }
    labels.push_back(found->second);
  });
  return labels;
}

std::optional<Devkit> find_devkit(const fs::path& folder) {
  if (exists_at(folder / kDevkitArchive)) return read_archive(folder / kDevkitArchive);
  if (is_folder_at(folder / kFolder)) {
    return make_devkit(folder / kFolder,
                       read_source_bytes(folder / kFolder / kMeta, kMaxMemberBytes),
                       read_source_bytes(folder / kFolder / kGroundTruth, kMaxMemberBytes));
  }
  return std::nullopt;
}

Synsets parse_synset_mapping(std::string_view text, const std::string& origin) {
  struct Class {
    std::string_view wnid;
    std::string_view words;
  };
  std::vector<Class> classes;
  for_each_line(text, [&](std::string_view line, int64_t number) {
    const std::string_view wnid = line.substr(0, line.find(' '));
    const std::string_view words = line.substr(std::min(wnid.size() + 1, line.size()));
    if (!is_wnid(wnid) || words.empty()) {
      bad_line(origin, number, line,
               "must be a wnid, a space and words, for example 'n01440764 tench, Tinca tinca'");
    }
    classes.push_back({wnid, words});
  });
  if (classes.empty()) {
    throw source_error(origin, ErrorCode::corrupt,
                       "the file is empty; download it from Kaggle again");
  }
  std::ranges::sort(classes, {}, &Class::wnid);
  Synsets synsets;
  for (const Class& one : classes) {
    if (!synsets.wnids.empty() && synsets.wnids.back() == one.wnid) {
      throw source_error(origin, ErrorCode::corrupt,
                         "the file has the class '{}' twice; download it from Kaggle again",
                         one.wnid);
    }
    synsets.wnids.emplace_back(one.wnid);
    synsets.words.emplace_back(one.words);
  }
  return synsets;
}

std::map<std::string, int64_t> parse_val_solution(std::string_view text, const Synsets& synsets,
                                                  const std::string& origin) {
  std::map<std::string, int64_t> labels;
  bool has_heading = false;
  for_each_line(text, [&](std::string_view line, int64_t number) {
    if (number == 1) {
      has_heading = line == "ImageId,PredictionString";
      if (!has_heading) bad_line(origin, 1, line, "must be the heading 'ImageId,PredictionString'");
      return;
    }
    const size_t comma = line.find(',');
    if (comma == 0 || comma == std::string_view::npos) {
      bad_line(origin, number, line, "must be the name of a picture, a comma and boxes");
    }
    std::string_view boxes = line.substr(comma + 1);
    const std::string wnid(take_word(boxes));
    const int64_t label = synsets.label_of(wnid);
    if (label < 0) bad_line(origin, number, line, "does not contain the wnid of a known class");
    // Behind it the box, and more boxes with their classes.
    constexpr int kBoxWords = 5;
    int num_words = 1;
    for (std::string_view word = take_word(boxes); !word.empty(); word = take_word(boxes)) {
      const bool is_class = num_words++ % kBoxWords == 0;
      if (is_class && word != wnid) bad_line(origin, number, line, "has boxes of two classes");
    }
    if (!labels.emplace(line.substr(0, comma), label).second) {
      bad_line(origin, number, line, "names a picture that an earlier line names too");
    }
  });
  if (!has_heading) {
    throw source_error(origin, ErrorCode::corrupt,
                       "the file is empty; download it from Kaggle again");
  }
  return labels;
}

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
                       "'{}' is not one of the {} classes of {}; remove this folder or file, or "
                       "convert folders of other classes with 'ffconvert folder'",
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
                           "the picture '{}' is not in {}; remove this picture", entry.id,
                           kValSolution);
      }
      entry.label = label->second;
    }
    return {kValSolution, std::ssize(labels) - std::ssize(entries)};
  }
  if (!devkit_) {
    throw source_error(where, ErrorCode::not_found,
                       "the labels of the validation pictures are missing; leave these pictures "
                       "out with {}, or put Kaggle's {} or the archive {} beside the pictures",
                       option_set("splits", "train"), kValSolution, kDevkitArchive);
  }
  label_by_number(entries, devkit_->val_labels, where);
  const int64_t num_missing = std::ssize(devkit_->val_labels) - std::ssize(entries);
  if (num_missing > 0 && !allow_partial) {
    throw source_error(where, ErrorCode::invalid_argument,
                       "there are {} pictures, but the devkit has labels for {} pictures; get the "
                       "missing pictures, or use the existing pictures with {}",
                       entries.size(), devkit_->val_labels.size(), option_on("allow_partial"));
  }
  return {"the devkit", num_missing};
}

}  // namespace ffkit
