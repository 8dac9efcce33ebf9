#include "folder/folder_layout.h"

#include <algorithm>

#include <ffkit/base/option_names.h>

#include "base/printable.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "files/text_files.h"
#include "pictures/image_tree.h"

namespace ffkit {
namespace {

// The folders in `folder` that hold pictures, at any depth; the others are added to `empty`.
std::vector<std::string> folders_of_pictures(const fs::path& folder,
                                             std::vector<std::string>& empty) {
  std::vector<std::string> full;
  for (std::string& name : list_folders(folder)) {
    (holds_images_below(folder / name) ? full : empty).push_back(std::move(name));
  }
  return full;
}

// ImageFolder takes a hidden folder for a class, and the labels of all classes behind it differ by
// one.
void refuse_hidden_classes(const fs::path& folder) {
  for (const std::string& name : list_hidden_folders(folder)) {
    if (!holds_images_below(folder / name)) continue;
    throw source_error(folder, ErrorCode::invalid_argument,
                       "the folder '{}' begins with a dot and holds pictures, so it may be a class "
                       "or not; rename it or remove it",
                       name);
  }
}

void refuse_stray_pictures(const fs::path& folder, const std::string& first_class) {
  if (!holds_images(folder)) return;
  throw source_error(
      folder, ErrorCode::invalid_argument,
      "holds pictures beside class folders ('{}'); move the pictures or the folders away",
      first_class);
}

// What file servers and systems keep beside everybody's folders.
bool is_of_system(const std::string& folder) {
  return folder.starts_with('@') || folder.starts_with('#') || folder.starts_with('$') ||
         folder == "__MACOSX" || folder == "lost+found";
}

// As torchvision's ImageFolder.
void refuse_empty_classes(const fs::path& folder, std::vector<std::string> empty) {
  std::erase_if(empty, is_of_system);
  if (empty.empty()) return;
  const bool is_one = empty.size() == 1;
  throw source_error(folder, ErrorCode::invalid_argument,
                     "its {} {} no pictures; without {} the classes after {} would get other "
                     "labels; add the pictures, or take {} away",
                     some_names(empty), is_one ? "holds" : "hold", is_one ? "it" : "them",
                     is_one ? "it" : "them", is_one ? "it" : "them");
}

std::string empty_note(const fs::path& folder, const std::vector<std::string>& empty,
                       const char* one, const char* several) {
  return fmt::format(
      "{}: {} {} {}", folder.string(), some_names(empty),
      empty.size() == 1 ? "holds no pictures, so it is not" : "hold no pictures, so they are not",
      empty.size() == 1 ? one : several);
}

FolderSplit split_at(const fs::path& path, const std::string& folder) {
  const std::string called = split_called(folder);
  FolderSplit split{.name = called.empty() ? folder : called, .path = path / folder};
  split.is_training = split.name.starts_with("train");
  split.is_test = called.starts_with("test");
  return split;
}

// The classes of a split, and what is wrong with it when it is to be read.
void look_into(FolderSplit& split, bool has_classes, std::vector<std::string>& notes) {
  std::vector<std::string> empty;
  split.classes = folders_of_pictures(split.path, empty);
  if (!split.is_wanted) return;
  refuse_hidden_classes(split.path);
  if (!split.classes.empty()) {
    refuse_stray_pictures(split.path, split.classes.front());
  } else if (!split.is_test) {
    throw source_error(
        split.path, ErrorCode::invalid_argument,
        "holds pictures, but no class folders with pictures; put those of each class into "
        "a folder of its own, or leave the split out with " +
            option_name("splits"));
  }
  // Two levels with a split's name: an archive that was unpacked into the folder of its name.
  if (split.classes.size() == 1 && !split_called(split.classes.front()).empty() &&
      !holds_images(split.path / split.classes.front())) {
    throw source_error(
        split.path, ErrorCode::invalid_argument,
        "its one folder '{}' is named as a split and holds only folders; move these up",
        split.classes.front());
  }
  if (split.is_training && !has_classes) refuse_empty_classes(split.path, empty);
  if (!empty.empty()) notes.push_back(empty_note(split.path, empty, "a class", "classes"));
}

// SRC/bottle/train/*: one folder above the splits, or classes above splits.
void refuse_splits_below(const fs::path& path, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (holds_images(path / folder)) continue;
    for (const std::string& below : list_folders(path / folder)) {
      if (split_called(below).empty() || !holds_images_below(path / folder / below)) continue;
      throw source_error(path, ErrorCode::invalid_argument,
                         "its folder '{}' holds a folder '{}', which is named as a split; give "
                         "'{}' as the source, or put the splits above the classes",
                         folder, below, (path / folder).string());
    }
  }
}

FolderLayout layout_of_classes(const fs::path& path, std::vector<std::string> full,
                               const std::vector<std::string>& empty, bool has_classes) {
  FolderLayout layout;
  refuse_splits_below(path, full);
  refuse_hidden_classes(path);
  refuse_stray_pictures(path, full.front());
  if (!has_classes) refuse_empty_classes(path, empty);
  if (!empty.empty()) layout.notes.push_back(empty_note(path, empty, "a class", "classes"));
  const std::string called = split_called(path.filename().string());
  if (!called.empty() && called != "train") {
    layout.notes.push_back(fmt::format(
        "{}: its pictures become the split 'train'; give the folder above for a split '{}'",
        path.string(), called));
  }
  const bool is_deep = std::ranges::none_of(
      full, [&path](const std::string& name) { return holds_images(path / name); });
  if (is_deep) {
    layout.notes.push_back(
        fmt::format("{}: its folders are used as classes, because none is named like a split; name "
                    "those that are with {}",
                    path.string(), option_name("splits")));
  }
  layout.splits.push_back(
      {.name = "train", .path = path, .is_training = true, .classes = std::move(full)});
  return layout;
}

// A class may be called "train": its pictures lie in it, as those of the classes beside it do.
bool is_class_called_train(const fs::path& path, const std::vector<std::string>& full) {
  const auto is_split = [](const std::string& name) { return !split_called(name).empty(); };
  const auto is_flat = [&path](const std::string& name) {
    std::vector<std::string> none;
    return holds_images(path / name) && folders_of_pictures(path / name, none).empty();
  };
  return std::ranges::count_if(full, is_split) == 1 && full.size() > 1 &&
         std::ranges::all_of(full, is_flat);
}

bool is_called(const FolderSplit& split, const std::string& name) {
  return split.name == name || split.path.filename() == name;
}

void choose(FolderLayout& layout, const fs::path& path, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return;
  for (FolderSplit& split : layout.splits) split.is_wanted = false;
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find_if(
        layout.splits, [&name](const FolderSplit& split) { return is_called(split, name); });
    if (found == layout.splits.end()) {
      std::vector<std::string> names;
      for (const FolderSplit& split : layout.splits) names.push_back(split.name);
      throw source_error(path, ErrorCode::not_found, "has no split '{}' with pictures, only {}",
                         name, some_names(names));
    }
    found->is_wanted = true;
  }
}

void refuse_same_split(const FolderLayout& layout, const fs::path& path) {
  for (size_t i = 0; i < layout.splits.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (layout.splits[i].name != layout.splits[j].name) continue;
      throw source_error(path, ErrorCode::invalid_argument,
                         "'{}' and '{}' are both the split '{}'; leave one",
                         layout.splits[j].path.filename().string(),
                         layout.splits[i].path.filename().string(), layout.splits[i].name);
    }
  }
}

FolderLayout layout_of_splits(const fs::path& path, const std::vector<std::string>& full,
                              const std::vector<std::string>& empty,
                              const std::vector<std::string>& wanted, bool has_classes) {
  FolderLayout layout;
  for (const std::string& name : full) layout.splits.push_back(split_at(path, name));
  refuse_same_split(layout, path);
  choose(layout, path, wanted);
  const auto some_split = std::ranges::find_if(
      full, [](const std::string& name) { return !split_called(name).empty(); });
  for (FolderSplit& split : layout.splits) {
    const std::string folder = split.path.filename().string();
    if (split.is_wanted && split_called(folder).empty() && some_split != full.end() &&
        holds_images(split.path)) {
      throw source_error(path, ErrorCode::invalid_argument,
                         "'{}' holds pictures and looks like a class, but '{}' is named as a "
                         "split; expected <split>/<class>/<picture> or <class>/<picture>: take it "
                         "away, or name the splits with {}",
                         folder, *some_split, option_name("splits"));
    }
    if (split.is_wanted && folder != split.name) {
      layout.notes.push_back(fmt::format("{}: is the split '{}'", split.path.string(), split.name));
    }
    look_into(split, has_classes, layout.notes);
  }
  if (!empty.empty()) layout.notes.push_back(empty_note(path, empty, "a split", "splits"));
  if (holds_images(path)) {
    layout.notes.push_back(
        fmt::format("{}: the pictures beside the splits are not read", path.string()));
  }
  return layout;
}

}  // namespace

std::string some_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

FolderLayout find_folder_layout(const fs::path& path, const std::vector<std::string>& wanted,
                                bool has_classes) {
  std::vector<std::string> empty;
  std::vector<std::string> full = folders_of_pictures(path, empty);
  if (full.empty()) {
    const char* expected = "expected <split>/<class>/<picture> or <class>/<picture>";
    if (holds_images(path)) {
      throw source_error(path, ErrorCode::not_found,
                         "holds pictures, but no folders of pictures; {}, or a list of names and "
                         "labels with {}",
                         expected, option_name("labels"));
    }
    throw source_error(path, ErrorCode::not_found,
                       empty.empty() ? fmt::format("holds no folders; {}", expected)
                                     : std::string("there are no pictures in it"));
  }
  const bool is_asked = std::ranges::any_of(wanted, [&full](const std::string& name) {
    return std::ranges::find(full, name) != full.end();
  });
  const bool is_named = std::ranges::any_of(
      full, [](const std::string& name) { return !split_called(name).empty(); });
  if (is_asked || (is_named && !is_class_called_train(path, full))) {
    return layout_of_splits(path, full, empty, wanted, has_classes);
  }
  FolderLayout layout = layout_of_classes(path, std::move(full), empty, has_classes);
  choose(layout, path, wanted);
  return layout;
}

std::map<std::string, std::string> parse_val_annotations(std::string_view text,
                                                         const std::string& origin) {
  std::map<std::string, std::string> classes;
  for_each_line(text, [&](std::string_view line, int64_t number) {
    const auto refuse = [&](const char* what) {
      constexpr size_t kMaxQuoted = 40;
      throw source_error(origin, ErrorCode::corrupt, "line {}: '{}' {}; download it again", number,
                         printable(std::string(line.substr(0, kMaxQuoted))), what);
    };
    const size_t tab = line.find('\t');
    if (tab == 0 || tab == std::string_view::npos) {
      refuse("is not a picture, a tab and its class");
    }
    const std::string_view rest = line.substr(tab + 1);
    const std::string name(rest.substr(0, rest.find('\t')));
    if (name.empty()) refuse("is not a picture, a tab and its class");
    if (!classes.emplace(line.substr(0, tab), name).second) {
      refuse("names a picture for the second time");
    }
  });
  if (classes.empty()) {
    throw source_error(origin, ErrorCode::corrupt, "is empty; download it again");
  }
  return classes;
}

}  // namespace ffkit
