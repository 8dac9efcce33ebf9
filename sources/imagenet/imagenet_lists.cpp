#include "imagenet/imagenet_lists.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "archives/archive_reader.h"
#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/text_lines.h"
#include "imagenet/imagenet_classes.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

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
    throw source_error(path, ErrorCode::corrupt, "has no {}; download or copy it again",
                       meta ? kGroundTruth : kMeta);
  }
  return make_devkit(path, *meta, *ground_truth);
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
    int64_t id = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), id);
    const auto found = synsets.label_of_id.find(id);
    if (error != std::errc{} || end != line.data() + line.size() ||
        found == synsets.label_of_id.end()) {
      throw source_error(origin, ErrorCode::corrupt,
                         "line {}: '{}' is not the number of a class; get the devkit again", number,
                         line.substr(0, 40));
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

namespace {

constexpr size_t kMaxQuoted = 40;  // of a line, in messages

[[noreturn]] void bad_line(const std::string& origin, int64_t number, std::string_view line,
                           const std::string& what) {
  throw source_error(origin, ErrorCode::corrupt, "line {}: '{}' {}; download it from Kaggle again",
                     number, line.substr(0, kMaxQuoted), what);
}

// The first word of `text`, which is taken off with the spaces around it; empty at the end.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

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
      bad_line(origin, number, line, "is no wnid with its words (n01440764 tench, Tinca tinca)");
    }
    classes.push_back({wnid, words});
  });
  if (classes.empty()) {
    throw source_error(origin, ErrorCode::corrupt, "is empty; download it from Kaggle again");
  }
  std::ranges::sort(classes, {}, &Class::wnid);
  Synsets synsets;
  for (const Class& one : classes) {
    if (!synsets.wnids.empty() && synsets.wnids.back() == one.wnid) {
      throw source_error(origin, ErrorCode::corrupt,
                         "has class '{}' twice; download it from Kaggle again", one.wnid);
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
      if (!has_heading) bad_line(origin, 1, line, "is not the heading ImageId,PredictionString");
      return;
    }
    const size_t comma = line.find(',');
    if (comma == 0 || comma == std::string_view::npos) {
      bad_line(origin, number, line, "is not a picture, a comma, and its boxes");
    }
    std::string_view boxes = line.substr(comma + 1);
    const std::string wnid(take_word(boxes));
    const int64_t label = synsets.label_of(wnid);
    if (label < 0) bad_line(origin, number, line, "does not name one of the classes");
    // Behind it the box, and more boxes with their classes.
    constexpr int kBoxWords = 5;
    int num_words = 1;
    for (std::string_view word = take_word(boxes); !word.empty(); word = take_word(boxes)) {
      const bool is_class = num_words++ % kBoxWords == 0;
      if (is_class && word != wnid) bad_line(origin, number, line, "has boxes of two classes");
    }
    if (!labels.emplace(line.substr(0, comma), label).second) {
      bad_line(origin, number, line, "names a picture for the second time");
    }
  });
  if (!has_heading) {
    throw source_error(origin, ErrorCode::corrupt, "is empty; download it from Kaggle again");
  }
  return labels;
}

}  // namespace ffkit
