#include "folder/folder_layout.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_names.h>

#include "base/printable.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
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
                       "the folder '{}' begins with a dot and holds pictures, so it may be "
                       "a class or another folder; rename it or remove it",
                       name);
  }
}

void refuse_stray_pictures(const fs::path& folder, const std::string& first_class) {
  if (!holds_images(folder)) return;
  throw source_error(folder, ErrorCode::invalid_argument,
                     "the folder contains pictures and also class folders ('{}'); move the "
                     "pictures or the class folders to another folder",
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
                     "{} {} no pictures. Without {}, the classes after {} would get other "
                     "labels; add the pictures, or remove {}",
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
    throw source_error(split.path, ErrorCode::invalid_argument,
                       "this split holds pictures, but no class folders with pictures; put the "
                       "pictures of each class into its own folder, leave the split out with " +
                           option_name("splits") + ", or give a list of names and labels with " +
                           option_name("labels"));
  }
  // Two levels with a split's name: an archive that was unpacked into the folder of its name.
  if (split.classes.size() == 1 && !split_called(split.classes.front()).empty() &&
      !holds_images(split.path / split.classes.front())) {
    throw source_error(split.path, ErrorCode::invalid_argument,
                       "the only folder '{}' has the name of a split and holds only folders; move "
                       "these folders one level up",
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
      throw source_error(
          path, ErrorCode::invalid_argument,
          "the folder '{}' holds a folder '{}', which has the name of a split; give '{}' as the "
          "source, or put the folders of the classes into the folders of the splits",
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
    add_note(layout.notes, path.string(),
             "its pictures become the split 'train'; for a split '{}', give the folder above",
             called);
  }
  const bool is_deep = std::ranges::none_of(
      full, [&path](const std::string& name) { return holds_images(path / name); });
  if (is_deep) {
    add_note(layout.notes, path.string(),
             "its folders are used as classes, because none has the name of a split; name the "
             "splits with {}",
             option_name("splits"));
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
      throw source_error(path, ErrorCode::not_found,
                         "there is no split '{}' with pictures; the splits with pictures are {}",
                         name, some_names(names_in(layout.splits)));
    }
    found->is_wanted = true;
  }
}

void refuse_same_split(const FolderLayout& layout, const fs::path& path) {
  for (size_t i = 0; i < layout.splits.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (layout.splits[i].name != layout.splits[j].name) continue;
      throw source_error(
          path, ErrorCode::invalid_argument,
          "the folders '{}' and '{}' would both be the split '{}'; remove one of the two folders",
          layout.splits[j].path.filename().string(), layout.splits[i].path.filename().string(),
          layout.splits[i].name);
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
      throw source_error(
          path, ErrorCode::invalid_argument,
          "'{}' holds pictures and looks like a class, but '{}' has the name "
          "of a split; arrange the pictures as <split>/<class>/<picture> or <class>/<picture>. "
          "Remove the class, or name the splits with {}",
          folder, *some_split, option_name("splits"));
    }
    if (split.is_wanted && folder != split.name) {
      add_note(layout.notes, split.path.string(), "is the split '{}'", split.name);
    }
    look_into(split, has_classes, layout.notes);
  }
  if (!empty.empty()) layout.notes.push_back(empty_note(path, empty, "a split", "splits"));
  if (holds_images(path)) {
    add_note(layout.notes, path.string(), "the pictures beside the splits are not read");
  }
  return layout;
}

// Layouts of published data sets that are no class folders, though their folders hold pictures.
struct KnownSet {
  std::string_view marker;  // a file or folder that it has
  const char* name;
  // A class of torchvision.datasets, or a command of ffconvert.
  const char* command;
};

// The first that fits.
constexpr KnownSet kKnownSets[] = {
    {"annotations/trimaps", "the Oxford-IIIT Pets", "OxfordIIITPet"},
    {"annotations/training", "ADE20K", "ffconvert pairs DST --layout ade20k --root SRC"},
    {"gtFine", "Cityscapes", "ffconvert pairs DST --layout cityscapes --root SRC"},
    {"meta/classes.txt", "Food-101", "Food101"},
    {"imagelabels.mat", "the Oxford Flowers", "Flowers102"},
    {"cars_train", "the Stanford Cars", "StanfordCars"},
    {"categories_places365.txt", "Places365", "Places365"},
    {"data_256_standard", "Places365", "Places365"},
    {"data_large_standard", "Places365", "Places365"},
    {"val_256", "Places365", "Places365"},
    {"ClassName.txt", "SUN397", "SUN397"},
    {"JPEGImages", "Pascal VOC", "ffconvert voc SRC DST"},
    {"Annotations", "Pascal VOC", "ffconvert voc SRC DST"},
    {"VOC2012/Annotations", "Pascal VOC", "ffconvert voc SRC DST"},
    {"VOC2007/Annotations", "Pascal VOC", "ffconvert voc SRC DST"},
    {"training/image_2", "KITTI", "Kitti"},
    {"list_attr_celeba.txt", "CelebA", "CelebA"},
    {"img_align_celeba", "CelebA", "CelebA"},
    {"labels/labels_joint_anno.txt", "DTD", "DTD"},
    {"images_variant_train.txt", "FGVC Aircraft", "FGVCAircraft"},
    {"data/images_variant_train.txt", "FGVC Aircraft", "FGVCAircraft"},
    {"GTSRB", "GTSRB", "GTSRB"},
    {"Final_Test", "GTSRB", "GTSRB"},
    {"101_ObjectCategories", "Caltech 101", "Caltech101"},
    {"256_ObjectCategories", "Caltech 256", "Caltech256"},
    {"lfw-deepfunneled", "LFW", "LFWPeople"},
    {"data.yaml", "YOLO", "ffconvert yolo SRC DST"},
    {"labels", "YOLO", "ffconvert yolo SRC DST"},
    {"train/labels", "YOLO", "ffconvert yolo SRC DST"},
    {"annotations/instances_train2017.json", "COCO", "ffconvert coco SRC DST"},
    {"annotations/instances_val2017.json", "COCO", "ffconvert coco SRC DST"},
    {"train/_annotations.coco.json", "COCO", "ffconvert coco SRC DST"}};

// "train" and "a" of "trainA", "images" of "Images_001", in small letters.
std::vector<std::string> words_of(const std::string& folder) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < folder.size(); ++i) {
    const auto c = static_cast<unsigned char>(folder[i]);
    const bool is_letter = std::isalpha(c) != 0 || c >= 0x80;
    const bool begins = i > 0 && std::isupper(c) != 0 && std::islower(folder[i - 1]) != 0;
    if ((!is_letter || begins) && !words.back().empty()) words.emplace_back();
    if (is_letter) words.back() += static_cast<char>(std::tolower(c));
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool is_split(const std::string& word) {
  return !split_called(word).empty();
}

// Whether nobody calls a class so.
bool is_part_of_set(const std::string& folder) {
  constexpr std::string_view kParts =
      "annotation image img imgs jpegimages imagesets jpg jpeg png labels masks trimaps metadata "
      "leftimg8bit gtfine bboxes query gallery dataset bounding_box rgb depth nir lr hr gt";
  const std::vector<std::string> words = words_of(folder);
  const auto is_part = [&](std::string_view word) { return has_word(kParts, word); };
  if (is_part(in_lower_case(folder)) || is_split(folder)) return true;
  if (words.empty()) return false;
  // "images_background", "segmentation_masks", "part1", "HAM10000_images_part_1".
  const auto is_telling = [](std::string_view word) {
    return has_word("annotations images segmentation celeba", word);
  };
  if (std::ranges::any_of(words, is_telling)) return true;
  if (words.size() == 1 && is_part(words[0])) return true;  // "image_2"
  const std::string& last = words.back();
  if ((last == "part" || last == "fold") && std::isdigit(folder.back()) != 0) return true;
  // "cars_train", "DIV2K_train_HR", "trainA" and "test_256", but not "test_tube".
  const auto is_no_class = [&](const auto& word) { return word.size() == 1 || is_part(word); };
  const auto split = std::ranges::find_if(words, is_split);
  return is_split(last) ||
         (split != words.end() && std::all_of(split + 1, words.end(), is_no_class));
}

// Of folders whose files have the same names but for endings, as pictures and what belongs to each
// have: "image=rgb depth=depth", as pairs takes them. Empty of others.
std::string pairs_among(const fs::path& path, const std::vector<std::string>& folders) {
  constexpr std::string_view kPictureFolders =
      "rgb color image images img imgs jpegimages photo input noisy blur hazy rainy left lr low "
      "frames source";
  const auto picture = std::ranges::find_if(folders, [&](const std::string& folder) {
    return has_word(kPictureFolders, in_lower_case(folder));
  });
  if (picture == folders.end()) return {};
  std::string fields = "image=" + *picture;
  std::set<std::set<std::string>> names;
  for (const std::string& folder : folders) {
    std::set<std::string> stems;
    for (const fs::path file : list_files(path / folder)) stems.insert(file.stem().string());
    names.insert(std::move(stems));
    if (folder != *picture) fields += fmt::format(" {0}={0}", folder);
  }
  return folders.size() > 1 && names.size() == 1 ? fields : std::string();
}

// Whether a file beside the pictures has their labels, by its name.
bool is_list(const std::string& file) {
  const fs::path path(file);
  const std::string ending = in_lower_case(path.extension().string());
  if (ending == ".mat" || ending == ".csv" || ending == ".tsv" || ending == ".jsonl") return true;
  if (ending != ".txt") return false;
  const std::string stem = in_lower_case(path.stem().string());
  return !split_called(stem).empty() || stem.starts_with("list_") || stem == "classname";
}

// Those of the classes that are none. Names that differ by their splits alone are splits, too:
// "train_cars" and "test_cars".
std::vector<std::string> parts_among(const std::set<std::string>& classes) {
  const auto without_split = [](const std::string& name) {
    std::vector<std::string> words = words_of(name);
    std::ranges::replace_if(words, is_split, std::string());
    return words;
  };
  std::vector<std::string> parts;
  std::ranges::copy_if(classes, std::back_inserter(parts), [&](const std::string& name) {
    const std::vector<std::string> words = without_split(name);
    return is_part_of_set(name) || (std::ranges::find(words, "") != words.end() &&
                                    std::ranges::count(classes, words, without_split) > 1);
  });
  return parts;
}

std::string what_is_odd(const fs::path& path, const FolderLayout& layout) {
  std::set<std::string> classes;
  bool has_class_folders = false;
  std::vector<std::string> lists;
  const auto look_for_lists = [&](const fs::path& folder) {
    std::ranges::copy_if(list_files(folder), std::back_inserter(lists), is_list);
  };
  look_for_lists(path);
  for (const FolderSplit& split : layout.splits) {
    // tiny-imagenet's val and test have their pictures in images/.
    const bool is_of_all = !split.is_training && layout.splits.size() > 1;
    if (is_of_all && split.classes == std::vector<std::string>{"images"}) continue;
    classes.insert(split.classes.begin(), split.classes.end());
    if (!split.is_wanted) continue;
    has_class_folders = has_class_folders || !split.classes.empty();
    if (split.path != path) look_for_lists(split.path);
  }
  if (const auto parts = parts_among(classes); !parts.empty()) {
    return fmt::format("{} {} of a data set, not the names of classes", some_names(parts),
                       parts.size() == 1 ? "has the name of a part" : "have the names of parts");
  }
  if (has_class_folders && classes.size() == 1) {
    return fmt::format("all pictures belong to one class, '{}'", *classes.begin());
  }
  // Splits with classes say what the classes are.
  if (lists.empty() || (has_class_folders && layout.splits.size() > 1)) return {};
  return fmt::format("{} beside the pictures may contain their labels", some_names(lists));
}

void refuse_known(const fs::path& path, const std::vector<fs::path>& places,
                  const std::string& odd) {
  for (const KnownSet& known : kKnownSets) {
    const bool is_there = std::ranges::any_of(
        places, [&](const fs::path& place) { return exists_at(place / known.marker); });
    if (!is_there) continue;
    const std::string remedy =
        std::string_view(known.command).starts_with("ffconvert")
            ? fmt::format("use {}", known.command)
            : fmt::format(
                  "use ffkit.convert.from_torch(torchvision.datasets.{}(ROOT), DST) in Python",
                  known.command);
    throw source_error(path, ErrorCode::invalid_argument, "{}; the source looks like {}, so {}",
                       odd, known.name, remedy);
  }
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
    const char* expected = "arrange the pictures as <split>/<class>/<picture> or <class>/<picture>";
    if (holds_images(path)) {
      throw source_error(path, ErrorCode::not_found,
                         "the folder contains pictures, but no folders with pictures; {}, or give "
                         "a list of names and labels with {}",
                         expected, option_name("labels"));
    }
    throw source_error(path, ErrorCode::not_found,
                       empty.empty()
                           ? fmt::format("the folder contains no folders; {}", expected)
                           : std::string("the folder and its subfolders contain no pictures"));
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

void refuse_known_layout(const fs::path& path) {
  refuse_known(path, {path}, "the folders of the source are not classes");
}

void refuse_other_layouts(const fs::path& path, const FolderLayout& layout) {
  std::string odd = what_is_odd(path, layout);
  std::string remedy;
  std::vector<fs::path> places = {path};
  for (const FolderSplit& split : layout.splits) {
    if (const std::string fields = pairs_among(split.path, split.classes); !fields.empty()) {
      if (odd.empty()) odd = some_names(split.classes) + " hold files with the same names";
      remedy = fmt::format(
          ". Each picture seems to have other files with the same name in these folders. If the "
          "other files are masks (PNGs with one channel), use ffconvert pairs DST --root '{}' {}. "
          "For other files, use ffkit.Writer in Python",
          split.path.string(), fields);
    } else if (split.classes.size() == 1 && !holds_images(split.path / split.classes[0])) {
      remedy = fmt::format("; if the folders in '{0}' are the classes, give '{0}' as the source",
                           (split.path / split.classes[0]).string());
    }
    if (split.path != path) places.push_back(split.path);
    for (const std::string& name : split.classes) {
      if (split.classes.size() == 1) places.push_back(split.path / name);
    }
  }
  if (odd.empty()) return;
  refuse_known(path, places, odd);
  throw source_error(path, ErrorCode::invalid_argument,
                     "{}{}. If the folders are the classes, give the names of all classes with {} "
                     "or {}. If a list has the labels, give this list with {}. For a data set of "
                     "torchvision, use ffkit.convert.from_torch() in Python",
                     odd, remedy, option_set("classes", "FILE"), option_set("classes_of", "DATA"),
                     option_set("labels", "FILE"));
}

}  // namespace ffkit
