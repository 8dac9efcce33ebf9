#include "pairs/pairs_listing.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_names.h>

#include "base/printable.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/text_files.h"
#include "folder/folder_layout.h"
#include "format/dataset/manifest_text.h"
#include "pictures/image_sample.h"
#include "pictures/image_tree.h"

namespace ffkit {
namespace {

constexpr int64_t kMaxSplitListBytes = 1LL << 30;
constexpr size_t kShown = 3;

struct NamedFile {
  std::string name;  // that it shares with the files of other folders
  ImageEntry entry;
};

// Files of one name.
struct StemFiles {
  std::string_view name;
  std::vector<const ImageEntry*> files;  // one a folder; null: there is none

  bool is_whole() const { return std::ranges::count(files, nullptr) == 0; }
};

// What a field's files end in: a suffix, perhaps with the files' ending behind it.
struct NameEnd {
  explicit NameEnd(const std::string& text) : suffix(text) {
    if (!has_read_image_name("x" + text)) return;
    ending = fs::path("x" + text).extension().string();
    suffix.resize(text.size() - ending.size());
  }
  std::string suffix;
  std::string ending;  // ".png"; empty: any
};

// "train/aachen/x" of "train/aachen/x_leftImg8bit.png"; nothing where the end is another one.
std::optional<std::string> common_name(const std::string& file, const NameEnd& end) {
  fs::path path(file);
  if (!end.ending.empty() &&
      in_lower_case(path.extension().string()) != in_lower_case(end.ending)) {
    return {};
  }
  path.replace_extension();
  const std::string last = path.filename().string();
  if (!last.ends_with(end.suffix) || last.size() == end.suffix.size()) return {};
  std::string name = path.string();
  name.resize(name.size() - end.suffix.size());
  return name;
}

// Sorted by name.
std::vector<NamedFile> files_in(const PairsFolder& folder, std::vector<std::string>& notes) {
  ImageListing listing = list_tree(folder.path);
  note_ignored(listing, folder.path, notes);
  std::vector<NamedFile> files;
  int64_t num_others = 0;
  const NameEnd end(folder.suffix);
  for (ImageEntry& entry : listing.entries) {
    if (std::optional<std::string> name = common_name(entry.id, end)) {
      files.push_back({std::move(*name), std::move(entry)});
    } else {
      ++num_others;
    }
  }
  if (files.empty()) {
    throw source_error(
        folder.path, ErrorCode::not_found,
        num_others == 0
            ? std::string("there are no pictures here")
            : fmt::format(
                  "no name of a picture ends with '{}'{}; give the right end of the names with {}",
                  folder.suffix, end.ending.empty() ? " before its ending" : "",
                  option_name("suffix")));
  }
  if (num_others > 0) {
    const bool is_one = num_others == 1;
    const char* where = is_one ? " before its ending" : " before their ending";
    add_note(notes, folder.path.string(), "{} {} left out of '{}': {} not end in '{}'{}",
             num_others, is_one ? "picture was" : "pictures were", folder.field,
             is_one ? "its name does" : "their names do", folder.suffix,
             end.ending.empty() ? where : "");
  }
  std::ranges::stable_sort(files, {}, &NamedFile::name);
  const auto same = std::ranges::adjacent_find(files, {}, &NamedFile::name);
  if (same != files.end()) {
    throw source_error(
        folder.path, ErrorCode::invalid_argument,
        "'{}' and '{}' have the same name '{}' without their endings; remove one of the two files",
        same->entry.id, std::next(same)->entry.id, same->name);
  }
  return files;
}

// Sorted by name. They refer to `files`, one element a folder.
std::vector<StemFiles> groups_of(const std::vector<std::vector<NamedFile>>& files) {
  std::vector<std::tuple<std::string_view, size_t, const ImageEntry*>> all;
  for (size_t i = 0; i < files.size(); ++i) {
    for (const NamedFile& file : files[i]) all.emplace_back(file.name, i, &file.entry);
  }
  std::ranges::sort(all);
  std::vector<StemFiles> groups;
  for (const auto& [name, folder, entry] : all) {
    if (groups.empty() || groups.back().name != name) groups.push_back({name, {}});
    groups.back().files.resize(files.size());
    groups.back().files[folder] = entry;
  }
  return groups;
}

class PairsLister {
 public:
  PairsLister(const PairsLayout& layout, const PairsOptions& options,
              std::vector<std::string>& notes)
      : layout_(layout), options_(options), notes_(notes) {
    for (const PairsFolder& folder : layout.folders) files_.push_back(files_in(folder, notes));
    groups_ = groups_of(files_);
    if (std::ranges::none_of(groups_, &StemFiles::is_whole)) refuse_different_names();
  }

  std::vector<PairSplit> list() {
    if (layout_.lists.empty()) {
      list_folders();
    } else {
      for (const fs::path& list : layout_.lists) add_list(list);
      if (!layout_.is_chosen) choose();
    }
    say_unpaired();
    for (const PairSplit& split : splits_) {
      if (const std::string fault = fault_of_split_name(split.name); !fault.empty()) {
        throw source_error(
            split.list.empty() ? pictures() : split.list, ErrorCode::invalid_argument,
            "these pictures belong to the split '{}', but this name {}; rename the split",
            printable(split.name), fault);
      }
      if (!split.samples.empty()) continue;
      throw source_error(split.list.empty() ? pictures() : split.list, ErrorCode::not_found,
                         "the split '{}' contains no samples", split.name);
    }
    return std::move(splits_);
  }

 private:
  const fs::path& pictures() const { return layout_.folders.front().path; }

  [[noreturn]] void refuse_different_names() const {
    std::string names;
    for (size_t i = 0; i < files_.size(); ++i) {
      names += fmt::format("{}'{}' has '{}'", i == 0 ? "" : ", ", layout_.folders[i].field,
                           files_[i].front().entry.id);
    }
    throw source_error(pictures(), ErrorCode::not_found,
                       "no name appears in all folders: {}; if the names have different ends, give "
                       "these ends with {}",
                       names, option_name("suffix"));
  }

  void add(PairSplit& split, const StemFiles& group, size_t id_begin) {
    ++num_looked_at_;
    if (!group.is_whole()) {
      unpaired_.push_back(&group);
      return;
    }
    PairSample sample{.files = {}, .id_begin = id_begin};
    for (const ImageEntry* entry : group.files) {
      sample.files.push_back(
          {entry->id, {.num_bytes = entry->data.num_bytes, .modified_ns = entry->modified_ns}});
    }
    split.samples.push_back(std::move(sample));
  }

  // Names without all their files: an error, or a note.
  void say_unpaired() {
    if (unpaired_.empty()) return;
    std::string shown;
    for (size_t i = 0; i < std::min(unpaired_.size(), kShown); ++i) {
      std::string lacking;
      for (size_t k = 0; k < layout_.folders.size(); ++k) {
        if (unpaired_[i]->files[k] != nullptr) continue;
        lacking += (lacking.empty() ? "" : " and no ") + layout_.folders[k].field;
      }
      shown += fmt::format("{}'{}' has no {}", i == 0 ? "" : ", ", unpaired_[i]->name, lacking);
    }
    const std::string what = fmt::format(
        "{} of {} names {} a file in one of the folders: {}{}", unpaired_.size(), num_looked_at_,
        unpaired_.size() == 1 ? "lacks" : "lack", shown, unpaired_.size() > kShown ? ", ..." : "");
    if (!options_.skip_unpaired) {
      throw source_error(pictures(), ErrorCode::not_found,
                         "{}; add the files, or leave out such names with {}", what,
                         option_set("unpaired", "skip"));
    }
    add_note(notes_, pictures().string(), "{}; ffkit leaves out these names", what);
  }

  // The splits of lists are named after them.
  void add_list(const fs::path& list) {
    const std::string stem = list.stem().string();
    const std::string called = split_called(stem);
    PairSplit split{.name = called.empty() ? stem : called, .samples = {}, .list = list};
    for (const PairSplit& other : splits_) {
      if (other.name != split.name) continue;
      throw source_error(
          list, ErrorCode::invalid_argument,
          "this list belongs to the same split '{}' as '{}'; rename one of the two lists",
          split.name, other.list.string());
    }
    std::set<std::string_view> seen;
    std::vector<std::string> missing;
    const std::string text = read_source_text(list, kMaxSplitListBytes);
    for_each_line(text, [&](std::string_view line, int64_t number) {
      while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
      if (line.empty()) return;
      const StemFiles* group = group_called(line);
      if (group == nullptr) {
        missing.push_back(fmt::format("'{}' (line {})", printable(line), number));
        return;
      }
      if (!seen.insert(group->name).second) {
        throw source_error(list, ErrorCode::invalid_argument,
                           "line {}: the name '{}' appears twice; remove one of the lines", number,
                           group->name);
      }
      add(split, *group, 0);
    });
    if (!missing.empty()) {
      const auto shown = std::span(missing).first(std::min(missing.size(), kShown));
      throw source_error(
          list, ErrorCode::not_found,
          "{} of the names in this list {} no file in '{}': {}{}; correct the names or add the "
          "files. Write a name as a path in this folder, without the suffix and the ending",
          missing.size(), missing.size() == 1 ? "has" : "have", pictures().string(),
          fmt::join(shown, ", "), missing.size() > kShown ? ", ..." : "");
    }
    if (seen.empty()) throw source_error(list, ErrorCode::not_found, "the list contains no names");
    splits_.push_back(std::move(split));
  }

  // Null where there is none. The name may end as the picture's file does.
  const StemFiles* group_called(std::string_view name) const {
    const auto find = [this](std::string_view wanted) {
      const auto found = std::ranges::lower_bound(groups_, wanted, {}, &StemFiles::name);
      return found != groups_.end() && found->name == wanted ? &*found : nullptr;
    };
    if (const StemFiles* group = find(name)) return group;
    if (!has_read_image_name(name)) return nullptr;
    const auto shared = common_name(std::string(name), NameEnd(layout_.folders.front().suffix));
    return shared ? find(*shared) : nullptr;
  }

  // The splits that are wanted, of those that lists name.
  void choose() {
    if (options_.splits.empty()) return;
    const std::vector<std::string> names = names_in(splits_);
    for (const std::string& wanted : options_.splits) require_split(wanted, names);
    std::erase_if(splits_, [this](const PairSplit& split) { return !is_wanted(split.name); });
  }

  void require_split(const std::string& wanted, const std::vector<std::string>& names) const {
    if (std::ranges::find(names, wanted) != names.end()) return;
    throw source_error(pictures(), ErrorCode::not_found,
                       "there is no split '{}' with pictures; the splits with pictures are {}",
                       wanted, some_names(names));
  }

  bool is_wanted(const std::string& name) const {
    return options_.splits.empty() ||
           std::ranges::find(options_.splits, name) != options_.splits.end();
  }

  // The folder of `name` directly in that of its field; empty: none.
  static std::string_view top_of(std::string_view name) {
    const size_t end = name.find('/');
    return end == std::string_view::npos ? std::string_view() : name.substr(0, end);
  }

  void list_folders() {
    std::set<std::string, std::less<>> tops;
    for (const NamedFile& file : files_.front()) tops.emplace(top_of(file.name));
    const auto is_split = [this](const std::string& top) {
      return !split_called(top).empty() ||
             (!options_.splits.empty() && !top.empty() && is_wanted(top));
    };
    if (std::ranges::none_of(tops, is_split)) {
      splits_.push_back({.name = name_of_all(), .samples = {}, .list = {}});
      for (const StemFiles& group : groups_) add(splits_.front(), group, 0);
      return;
    }
    std::map<std::string, size_t, std::less<>> split_of;  // wanted ones
    std::vector<std::string> names;
    for (const std::string& top : tops) {
      if (!is_split(top)) {
        refuse_stray(top);
        continue;
      }
      const std::string called = split_called(top);
      const std::string name = called.empty() ? top : called;
      if (std::ranges::find(names, name) != names.end()) {
        throw source_error(
            pictures(), ErrorCode::invalid_argument,
            "the source has two folders for the split '{}'; remove one of the two folders", name);
      }
      names.push_back(name);
      if (!is_wanted(name) && !is_wanted(top)) continue;
      if (top != name) {
        add_note(notes_, (pictures() / top).string(), "is the split '{}'", name);
      }
      split_of.emplace(top, splits_.size());
      splits_.push_back({.name = name, .samples = {}, .list = {}});
    }
    for (const std::string& wanted : options_.splits) {
      if (!split_of.contains(wanted)) require_split(wanted, names);
    }
    for (const StemFiles& group : groups_) {
      const std::string_view top = top_of(group.name);
      if (const auto found = split_of.find(top); found != split_of.end()) {
        add(splits_[found->second], group, top.size() + 1);
      } else if (options_.splits.empty()) {  // without a picture
        ++num_looked_at_;
        unpaired_.push_back(&group);
      }
    }
  }

  void refuse_stray(const std::string& top) const {
    if (!options_.splits.empty()) return;
    throw source_error(
        pictures(), ErrorCode::invalid_argument,
        "{} beside folders with the names of splits; move {} away, or name the splits with {}",
        top.empty() ? "holds pictures" : fmt::format("holds pictures in '{}'", top),
        top.empty() ? "the pictures" : "this folder", option_name("splits"));
  }

  // Of pictures that lie in no folders of splits.
  std::string name_of_all() const {
    std::string name = "train";
    if (options_.splits.size() == 1) {
      name = options_.splits.front();
    } else if (!options_.splits.empty()) {
      throw source_error(pictures(), ErrorCode::not_found,
                         "the folder has no subfolders for splits, so its pictures are one split; "
                         "give one name of a split with {}",
                         option_name("splits"));
    } else {
      const fs::path folder = canonical_place(pictures());
      for (const fs::path& path : {folder.parent_path(), folder}) {
        const std::string called = split_called(path.filename().string());
        if (!called.empty()) name = called;
      }
    }
    if (name != "train") {
      add_note(notes_, pictures().string(), "its pictures become the split '{}'", name);
    }
    return name;
  }

  const PairsLayout& layout_;
  const PairsOptions& options_;
  std::vector<std::string>& notes_;
  std::vector<std::vector<NamedFile>> files_;  // of each folder
  std::vector<StemFiles> groups_;              // that refer to them
  std::vector<PairSplit> splits_;
  std::vector<const StemFiles*> unpaired_;
  int64_t num_looked_at_ = 0;
};

}  // namespace

std::vector<PairSplit> list_pairs(const PairsLayout& layout, const PairsOptions& options,
                                  std::vector<std::string>& notes) {
  return PairsLister(layout, options, notes).list();
}

}  // namespace ffkit
