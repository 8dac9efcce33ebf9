#include <algorithm>
#include <array>
#include <set>

#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/yolo.h>

#include "archives/parallel_io.h"
#include "base/file/user_text.h"
#include "coco/annotated_pictures.h"
#include "coco/labelled_split.h"
#include "coco/mask_options.h"
#include "converter/input/input_file.h"
#include "converter/input/kind_options.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/text_files.h"
#include "pictures/image_sample.h"
#include "pictures/image_tree.h"
#include "yolo/yolo_files.h"

namespace ffkit {
namespace {

constexpr std::array kSplits = {"train", "val", "test"};

class YoloLabels final : public PictureLabels {
 public:
  YoloLabels(std::shared_ptr<const DataYaml> yaml, bool has_polygons)
      : yaml_(std::move(yaml)), has_polygons_(has_polygons) {}

  CocoFile read(size_t number, const FileBeside& from, PixelSize size,
                SampleBuffers& buffers) const override {
    std::string_view text;
    if (size == PixelSize{}) {
      buffers.report({"its size is not known, but its labels need the size", "has no boxes"});
    } else if (from.stamp.num_bytes > 0) {
      const auto bytes = read_listed_file(from.path, from.stamp, buffers);
      text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    return parse_yolo_labels(
        without_byte_order_mark(text), *yaml_, number, size, has_polygons_,
        [&](const std::string& why) {
          buffers.leave_out(fmt::format("{}: {}", from.path.filename().string(), why));
        });
  }

 private:
  const std::shared_ptr<const DataYaml> yaml_;
  const bool has_polygons_;
};

// `relative` below `folder`; "../" goes up, in a store too.
fs::path joined(fs::path folder, std::string relative) {
  while (relative.starts_with("./") || relative.starts_with("../")) {
    const bool is_up = relative[1] == '.';
    if (is_up) folder = folder.parent_path();
    relative.erase(0, is_up ? 3 : 2);
  }
  if (relative.empty() || relative == ".") return folder;
  return Place(relative).is_in_store() || fs::path(relative).is_absolute() ? fs::path(relative)
                                                                           : folder / relative;
}

// As Ultralytics finds them: the last folder called images becomes labels.
fs::path labels_of(const fs::path& picture) {
  std::string name = picture.string();
  constexpr std::string_view kImages = "/images/";
  if (const size_t at = name.rfind(kImages); at != std::string::npos) {
    name.replace(at, kImages.size(), "/labels/");
  }
  return fs::path(name).replace_extension(".txt");
}

class YoloSet {
 public:
  YoloSet(const fs::path& path, const YoloOptions& options) : options_(options) {
    const fs::path file = file_of(path);
    yaml_ = std::make_shared<DataYaml>(parse_data_yaml(read_source_text(file), file));
    root_ = root_of(file);
    set_.kind = "yolo";
    set_.path = root_;
    set_.storage = as_they_are(options.store, options.exif);
    set_.has_segmentation = options.segmentation;
    set_.masks = {.semantic = options.semantic_masks,
                  .instances = options.instance_masks,
                  .runs = options.mask_runs};
    for (const std::string name : kSplits) {
      const bool is_given = std::ranges::find(options.splits, name) != options.splits.end();
      if (options.splits.empty() || is_given) add_split(name, file, is_given);
    }
    if (set_.splits.empty()) {
      throw source_error(file, ErrorCode::not_found,
                         "names no existing pictures in 'train', 'val' or 'test'; correct its "
                         "'path'");
    }
    look_at_labels();
  }

  AnnotatedSet take() { return std::move(set_); }

 private:
  static fs::path file_of(const fs::path& path) {
    refuse_dangling_link(path);
    if (!is_folder_at(path)) {
      if (exists_at(path)) return canonical_place(path);
      throw source_error(path, ErrorCode::not_found, "there is no such folder or file");
    }
    std::vector<std::string> found;
    for (const std::string& name : ffkit::list_files(path)) {
      if (name.ends_with(".yaml") || name.ends_with(".yml")) found.push_back(name);
    }
    for (const char* usual : {"data.yaml", "dataset.yaml", "data.yml"}) {
      if (std::ranges::find(found, usual) != found.end()) found = {usual};
    }
    if (found.size() == 1) return canonical_place(path) / found.front();
    throw source_error(path, ErrorCode::not_found,
                       found.empty()
                           ? "the folder contains no data.yaml; write this file with the classes "
                             "as 'names' and the folders of pictures as 'train' and 'val'"
                           : "the folder contains several .yaml files; give one of these files");
  }

  fs::path root_of(const fs::path& file) {
    const fs::path folder = file.parent_path();
    if (yaml_->path.empty()) return folder;
    for (const fs::path& root : {joined(folder, yaml_->path), fs::path(yaml_->path)}) {
      if (is_folder_at(root)) return canonical_place(root);
    }
    add_note(set_.notes, file.string(),
             "its 'path' {} does not exist; ffkit looks for splits beside the file", yaml_->path);
    return folder;
  }

  // Where a split is; what Roboflow calls ../train/images is train/images.
  fs::path found_at(const std::string& place) const {
    fs::path found = joined(root_, place);
    if (place.starts_with("../") && !exists_at(found)) found = joined(root_, place.substr(3));
    return found;
  }

  void add_split(const std::string& name, const fs::path& file, bool is_given) {
    const std::vector<std::string>& places = yaml_->splits[name];
    std::vector<std::string> pictures;
    std::vector<FileStamp> stamps;
    CocoListing from{name, file, root_, {}};
    for (const std::string& place : places) {
      const fs::path at = found_at(place);
      if (is_folder_at(at)) {
        if (places.size() == 1) from.images = at;
        add_folder(at, from.images, pictures, stamps);
      } else if (exists_at(at)) {
        from.annotations = at;
        add_list(at, pictures);
      } else if (is_given || name == "train") {
        throw source_error(at, ErrorCode::not_found,
                           "there is no such folder or list, but {} names it as '{}'",
                           file.string(), name);
      } else {
        add_note(set_.notes, file.string(), "its '{}' {} does not exist and is left out", name,
                 at.string());
      }
    }
    if (pictures.empty()) {
      if (!is_given) return;
      throw source_error(file, ErrorCode::not_found, "its '{}' has no pictures", name);
    }
    AnnotatedSplit split = labelled_split(std::move(from), std::move(pictures), yaml_->names,
                                          std::move(stamps), options_.allow_missing, set_.notes);
    declare_yolo_arrays(*yaml_, split.file.annotations);
    std::set<fs::path> read = {file, split.from.annotations};
    for (const fs::path& input : read) {
      split.inputs.push_back(input_of(input.filename().string(), InputFile(input)));
    }
    split.labels = std::make_unique<YoloLabels>(yaml_, options_.segmentation || set_.masks.any());
    set_.splits.push_back(std::move(split));
  }

  void add_folder(const fs::path& folder, const fs::path& images,
                  std::vector<std::string>& pictures, std::vector<FileStamp>& stamps) {
    const ImageListing listing = list_tree(folder);
    const std::string before = folder == images ? "" : name_below(folder, images) + "/";
    for (const ImageEntry& entry : listing.entries) {
      pictures.push_back(before + entry.id);
      stamps.push_back({.num_bytes = entry.data.num_bytes, .modified_ns = entry.modified_ns});
    }
  }

  static std::string name_below(const fs::path& path, const fs::path& root) {
    const std::string text = path.string();
    const std::string above = root.string() + "/";
    return text.starts_with(above) ? text.substr(above.size()) : text;
  }

  void add_list(const fs::path& list, std::vector<std::string>& pictures) const {
    constexpr int64_t kMaxBytes = 1LL << 30;
    const std::string text = read_source_text(list, kMaxBytes);
    fs::path base;
    for_each_line(without_byte_order_mark(text), [&](std::string_view line, int64_t) {
      line = line.substr(0, line.find_last_not_of(" \t") + 1);
      if (line.empty()) return;
      const std::string name(line);
      if (base.empty()) {
        base = exists_at(joined(list.parent_path(), name)) ? list.parent_path() : root_;
      }
      pictures.push_back(name_below(joined(base, name), root_));
    });
  }

  // Finds the labels of all pictures, and says which are without, and which are of none.
  void look_at_labels() {
    std::set<fs::path> folders;
    std::set<fs::path> known;
    int64_t num_found = 0;
    for (AnnotatedSplit& split : set_.splits) {
      const size_t count = split.file.pictures.size();
      split.beside.resize(count);
      parallel_io_that_throws(count, [&](size_t i) {
        split.beside[i] = {
            file_beside(labels_of(split.from.images / split.file.pictures[i].file_name))};
      });
      int64_t num_bare = 0;
      for (const size_t i : split.taken) {
        const FileBeside& labels = split.beside[i].front();
        folders.insert(labels.path.parent_path());
        known.insert(labels.path);
        if (labels.stamp.num_bytes >= 0) ++num_found;
        if (labels.stamp.num_bytes <= 0) ++num_bare;
      }
      if (num_bare == 0) continue;
      add_note(
          set_.notes, split.from.images.string(),
          "{} of {} pictures have no file of labels, or an empty one, and are stored without boxes",
          num_bare, split.taken.size());
    }
    if (num_found == 0) {
      throw source_error(known.begin()->parent_path(), ErrorCode::not_found,
                         "no picture has a file of labels; for '{}', expected {}",
                         set_.splits.front().file.pictures.front().file_name,
                         set_.splits.front().beside.front().front().path.string());
    }
    if (options_.splits.empty()) say_labels_of_none(folders, known);
  }

  void say_labels_of_none(const std::set<fs::path>& folders, const std::set<fs::path>& known) {
    std::vector<std::string> others;
    for (const fs::path& folder : folders) {
      if (!is_folder_at(folder)) continue;
      for (const std::string& name : ffkit::list_files(folder)) {
        const bool is_list = name == "classes.txt" || name.starts_with("README");
        if (name.ends_with(".txt") && !is_list && !known.contains(folder / name) &&
            std::ranges::none_of(set_.splits, [&](const AnnotatedSplit& split) {
              return split.from.annotations == folder / name;
            })) {
          others.push_back((folder / name).string());
        }
      }
    }
    if (others.empty()) return;
    add_note(set_.notes, root_.string(),
             "{} files of labels belong to no picture and are left out, such as {}", others.size(),
             others.front());
  }

  const YoloOptions& options_;
  std::shared_ptr<DataYaml> yaml_;
  fs::path root_;
  AnnotatedSet set_;
};

class YoloKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table
        .add_names("splits", options_.splits,
                   "Splits to convert, one or several of train, val and test")
        .set_default("all that data.yaml names");
    masks_.describe(table);
    table.add("allow-missing", options_.allow_missing,
              "Leaves out a listed picture if its file is missing");
  }

  void check(const OptionTable& /*table*/) const override {
    if (!options_.splits.empty()) require_names("splits", options_.splits, kSplits);
    masks_.check();
  }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    YoloOptions options = set_by(options_, arguments);
    options.segmentation = masks_.has(kSegmentationJson);
    options.semantic_masks = masks_.has(kSemanticMask);
    options.instance_masks = masks_.has(kInstanceMasks);
    options.mask_runs = masks_.has(kMaskRuns);
    return open_yolo(arguments.path, options);
  }

 private:
  YoloOptions options_;
  MaskFields masks_;
};

}  // namespace

std::unique_ptr<Source> open_yolo(const fs::path& path, const YoloOptions& options) {
  const PlacesListed listed;
  return make_annotated_source(YoloSet(Place(path).path(), options).take());
}

SourceKind yolo_kind() {
  return {.name = "yolo",
          .description = "YOLO: data.yaml, pictures and labels in the layout of Ultralytics",
          .example = "/data/coco8 /fast/coco8",
          .options = make_source_options<YoloKind>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 41};
}

}  // namespace ffkit
