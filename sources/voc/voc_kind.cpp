#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/image/geometry_steps.h>
#include <ffkit/sources/voc.h>

#include "archives/parallel_io.h"
#include "base/file/user_text.h"
#include "base/printable.h"
#include "coco/annotated_pictures.h"
#include "coco/labelled_split.h"
#include "coco/mask_options.h"
#include "converter/input/input_file.h"
#include "converter/input/kind_options.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/text_files.h"
#include "format/dataset/manifest_text.h"
#include "pictures/image_sample.h"
#include "pictures/image_tree.h"
#include "voc/voc_annotations.h"

namespace ffkit {
namespace {

// Behind the arrays that all annotations may have.
constexpr std::array kFlags = {"difficult", "truncated", "occluded"};

// Sets what annotations will have.
void add_flags(CocoAnnotations& annotations, bool are_declared) {
  for (const char* name : kFlags) {
    annotations.arrays.push_back({.name = name, .are_whole = true});
    if (are_declared) annotations.arrays.back().declare({});
  }
}

class VocLabels final : public PictureLabels {
 public:
  VocLabels(const std::vector<std::string>& classes, int first_pixel) : first_pixel_(first_pixel) {
    for (const std::string& name : classes) id_of_.emplace(name, std::ssize(id_of_) + 1);
  }

  CocoFile read(size_t number, const FileBeside& from, PixelSize size,
                SampleBuffers& buffers) const override {
    CocoFile file;
    add_flags(file.annotations, /*are_declared=*/false);
    if (from.stamp.num_bytes >= 0) {
      const auto bytes = read_listed_file(from.path, from.stamp, buffers);
      const VocAnnotation read = of_sample(from.path.string(), [&] {
        return parse_voc_annotation({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      });
      report_other_size(read.width, read.height, size, buffers);
      for (size_t k = 1; k <= read.objects.size(); ++k) {
        const VocObject& object = read.objects[k - 1];
        if (const std::string fault = add(object, number, k, file.annotations); !fault.empty()) {
          buffers.leave_out(fmt::format("{}: object {}, '{}': {}", from.path.filename().string(), k,
                                        printable(object.name), fault));
        }
      }
    }
    file.give_all_to_one();
    return file;
  }

 private:
  // What is wrong with it; empty: it is taken.
  std::string add(const VocObject& object, size_t number, size_t k, CocoAnnotations& all) const {
    if (object.name.empty()) return "has no <name>";
    const auto id = id_of_.find(object.name);
    if (id == id_of_.end()) return "its class is not listed";
    if (!object.box) return "has no <bndbox> with the four numbers xmin, ymin, xmax and ymax";
    const auto& [xmin, ymin, xmax, ymax] = *object.box;
    // From the left edge of the first pixel to the right one of the last.
    const BoxEdges box = {xmin - first_pixel_, ymin - first_pixel_, xmax, ymax};
    if (!has_area(box)) {
      return fmt::format("has no area: its box is ({:g})", fmt::join(*object.box, ", "));
    }
    add_labelled(number, static_cast<int64_t>(k), id->second, box, all);
    all.area.add(std::array{static_cast<float>((box[2] - box[0]) * (box[3] - box[1]))});
    const std::array flags = {object.is_difficult, object.is_truncated, object.is_occluded};
    for (size_t i = 0; i < kFlags.size(); ++i) {
      all.arrays[all.arrays.size() - kFlags.size() + i].add(std::array{flags[i] ? 1.0F : 0.0F});
    }
    all.pose.push_back(object.pose);
    return {};
  }

  const int first_pixel_;
  std::map<std::string, int64_t> id_of_;
};

// The lists of a set, and where its files are.
class VocSet {
 public:
  VocSet(const fs::path& path, const VocOptions& options) : options_(options) {
    require_source_folder(path);
    root_ = root_of(canonical_place(path));
    set_.kind = "voc";
    set_.path = root_;
    set_.storage = as_they_are(options.store, options.exif);
    set_.masks = {.semantic = options.semantic_masks, .instances = options.instance_masks};
    set_.has_mask_files = set_.masks.any();
    set_.has_poses = true;
    annotations_ = folder_called(root_, {"Annotations", "annotations"});
    if (annotations_.empty()) {
      list_beside();
    } else {
      pictures_ = folder_called(root_, {"JPEGImages", "images", "Images"});
      if (pictures_.empty()) {
        throw source_error(root_, ErrorCode::not_found,
                           "the folder contains no folder JPEGImages with pictures");
      }
      list_sets();
    }
    read_classes();
    for (Names& names : splits_) add_split(std::move(names));
  }

  AnnotatedSet take() { return std::move(set_); }

 private:
  struct Names {
    std::string split;
    fs::path list;      // or the folder of annotations
    fs::path pictures;  // the folders of the files
    fs::path annotations;
    std::vector<std::string> names;      // without endings
    std::vector<FileStamp> stamps = {};  // of the annotations
  };

  static fs::path folder_called(const fs::path& above, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (is_folder_at(above / name)) return above / name;
    }
    return {};
  }

  static fs::path root_of(const fs::path& path) {
    if (!folder_called(path, {"Annotations", "annotations"}).empty()) return path;
    std::vector<std::string> years;
    for (const std::string& name : list_folders(path)) {
      if (is_folder_at(path / name / "Annotations")) years.push_back(name);
    }
    if (years.size() > 1) {
      throw source_error(path, ErrorCode::invalid_argument,
                         "holds the sets {}; convert them separately", fmt::join(years, ", "));
    }
    return years.empty() ? path : path / years.front();
  }

  static std::vector<std::string> names_of_xml(const fs::path& folder) {
    std::vector<std::string> names;
    for (const std::string& name : ffkit::list_files(folder)) {
      if (name.ends_with(".xml") && !name.starts_with('.')) {
        names.push_back(name.substr(0, name.size() - 4));
      }
    }
    return names;
  }

  void list_beside() {
    for (const std::string& folder : list_folders(root_)) {
      const std::string split = split_called(folder);
      if (split.empty() || !is_wanted(split)) continue;
      add_names(
          {split, root_ / folder, root_ / folder, root_ / folder, names_of_xml(root_ / folder)});
    }
    if (splits_.empty() && is_wanted("train")) {
      add_names({"train", root_, root_, root_, names_of_xml(root_)});
    }
    if (!splits_.empty()) return;
    throw source_error(
        root_, ErrorCode::not_found,
        "the folder contains neither a folder Annotations nor XML files beside pictures{}",
        options_.splits.empty() ? "" : " of these splits");
  }

  void add_names(Names names) {
    if (!names.names.empty()) splits_.push_back(std::move(names));
  }

  bool is_wanted(const std::string& split) const {
    return options_.splits.empty() ||
           std::ranges::find(options_.splits, split) != options_.splits.end();
  }

  void list_sets() {
    const fs::path lists = root_ / "ImageSets" / "Main";
    std::vector<std::string> wanted = options_.splits;
    if (wanted.empty()) {
      for (const char* split : {"train", "val", "trainval", "test"}) {
        if (exists_at(lists / (split + std::string(".txt")))) wanted.emplace_back(split);
      }
      if (wanted.empty()) {
        add_note(set_.notes, lists.string(),
                 "there are no lists train, val, trainval or test; all annotations are the split "
                 "'train'");
        add_names({"train", annotations_, pictures_, annotations_, names_of_xml(annotations_)});
        if (!splits_.empty()) return;
        throw source_error(annotations_, ErrorCode::not_found, "the folder contains no XML files");
      }
      if (wanted.size() > 2 && std::erase(wanted, "trainval") > 0) {
        add_note(set_.notes, lists.string(), "'trainval' is left out, because train and val exist");
      }
    }
    for (const std::string& split : wanted) {
      if (const std::string fault = fault_of_split_name(split); !fault.empty()) {
        throw argument_error("splits",
                             fmt::format("{}: '{}' {}", option_name("splits"), split, fault));
      }
      Names names{split, lists / (split + ".txt"), pictures_, annotations_, {}};
      for_each_line(without_byte_order_mark(read_source_text(names.list)),
                    [&](std::string_view line, int64_t) {
                      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
                      line = line.substr(0, line.find_first_of(" \t"));
                      if (!line.empty()) names.names.emplace_back(line);
                    });
      if (names.names.empty()) {
        add_note(set_.notes, names.list.string(), "is empty and is left out");
      }
      add_names(std::move(names));
    }
    if (splits_.empty()) throw source_error(lists, ErrorCode::not_found, "its lists are empty");
  }

  // Reads all annotations: the classes are those of all splits.
  void read_classes() {
    std::set<std::string> found;
    size_t num_parts = 0;
    size_t num_before = 0;  // boxes, as tools write them that count edges from 0
    std::mutex mutex;
    for (Names& names : splits_) {
      names.stamps.resize(names.names.size(), {.num_bytes = -1});
      parallel_io_that_throws(names.names.size(), [&](size_t i) {
        const fs::path file = names.annotations / (names.names[i] + ".xml");
        std::error_code none;
        const FileStamp stamp = stamp_of(file, none);
        if (none) return;
        names.stamps[i] = stamp;
        VocAnnotation read;
        try {
          read = parse_voc_annotation(read_source_text(file));
        } catch (const Error& error) {
          if (error.code() == ErrorCode::io || is_out_of_memory(error)) throw;
          return;  // a bad sample, which read() says
        }
        const std::scoped_lock lock(mutex);
        for (const VocObject& object : read.objects) {
          if (!object.name.empty()) found.insert(object.name);
          num_parts += object.num_parts;
          if (object.box && std::min((*object.box)[0], (*object.box)[1]) < 1) ++num_before;
        }
      });
    }
    if (num_parts > 0) {
      add_note(set_.notes, root_.string(), "{} parts of persons (head, hand, foot) are left out",
               num_parts);
    }
    if (num_before > 0 && options_.first_pixel == 1) {
      add_note(set_.notes, root_.string(),
               "{} boxes begin before pixel 1, the first pixel of Pascal VOC, and are stored as "
               "they are; if the files count edges from 0, give {}",
               num_before, option_set("first_pixel", "0"));
    }
    classes_.assign(found.begin(), found.end());
    if (!options_.classes.empty()) {
      classes_ = read_class_list(options_.classes);
    } else if (std::ranges::includes(voc_classes(), found)) {
      classes_ = voc_classes();
      add_note(set_.notes, root_.string(), "the classes are the 20 of Pascal VOC; {} gives others",
               option_set("classes", "FILE"));
    }
  }

  void add_split(Names names) {
    std::map<std::string, std::string> file_of;  // by the name without its ending
    for (const ImageEntry& entry : list_flat_folder(names.pictures).entries) {
      file_of.emplace(fs::path(entry.id).stem().string(), entry.id);
    }
    std::vector<std::string> pictures;
    for (const std::string& name : names.names) {
      const auto found = file_of.find(name);
      pictures.push_back(found == file_of.end() ? name + ".jpg" : found->second);
    }
    AnnotatedSplit split =
        labelled_split({names.split, names.list, names.pictures, {}}, std::move(pictures), classes_,
                       {}, options_.allow_missing, set_.notes);
    add_flags(split.file.annotations, /*are_declared=*/true);
    look_beside(names, split);
    leave_out_unannotated(names, split);
    if (names.list != names.annotations && names.list != names.pictures) {
      split.inputs = {input_of(names.list.filename().string(), InputFile(names.list))};
    }
    split.labels = std::make_unique<VocLabels>(classes_, options_.first_pixel);
    set_.splits.push_back(std::move(split));
  }

  void look_beside(const Names& names, AnnotatedSplit& split) const {
    split.beside.resize(names.names.size());
    parallel_io_that_throws(names.names.size(), [&](size_t i) {
      std::vector<FileBeside>& beside = split.beside[i];
      beside.push_back({names.annotations / (names.names[i] + ".xml"), names.stamps[i]});
      const auto add_mask = [&](const char* folder) {
        beside.push_back(file_beside(root_ / folder / (names.names[i] + ".png")));
      };
      if (set_.masks.semantic) add_mask("SegmentationClass");
      if (set_.masks.instances) add_mask("SegmentationObject");
    });
  }

  // A split without any annotations, as VOC2012's test, has pictures alone.
  void leave_out_unannotated(const Names& names, AnnotatedSplit& split) {
    std::vector<std::string> missing;
    for (const size_t i : split.taken) {
      if (names.stamps[i].num_bytes < 0) missing.push_back(names.names[i] + ".xml");
    }
    if (missing.empty()) return;
    const std::string what =
        fmt::format("{} of the {} annotations of '{}' are missing, for example {}", missing.size(),
                    split.taken.size(), names.list.string(), missing.front());
    if (missing.size() == split.taken.size()) {
      add_note(set_.notes, names.split, "{}; the pictures of the split are stored without boxes",
               what);
      return;
    }
    if (!options_.allow_missing) {
      throw source_error(names.annotations, ErrorCode::not_found,
                         "{}; add the annotations, or leave out their pictures with {}", what,
                         option_on("allow_missing"));
    }
    std::erase_if(split.taken, [&](size_t i) { return names.stamps[i].num_bytes < 0; });
    add_note(set_.notes, names.annotations.string(), "{}; ffkit leaves out their pictures", what);
  }

  const VocOptions& options_;
  fs::path root_;
  fs::path annotations_;
  fs::path pictures_;
  std::vector<Names> splits_;
  std::vector<std::string> classes_;
  AnnotatedSet set_;
};

class VocKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table
        .add_names("splits", options_.splits,
                   "Splits to convert, such as train or trainval. The lists in ImageSets/Main have "
                   "these names")
        .set_default("train, val and test, or trainval");
    table.add("classes", options_.classes,
              "Text file with one class name per line, in the order of the labels");
    table
        .add("first-pixel", options_.first_pixel,
             "Meaning of xmin and xmax. With 1, xmin and xmax are the first and the last pixel of "
             "the box, counted from 1, as in Pascal VOC. With 0, xmin and xmax are the edges of "
             "the box, counted from 0, as some tools write them")
        .set_range(0, 1);
    masks_.describe(table,
                    "Fields with masks, one or both. 'semantic' has the PNGs of SegmentationClass. "
                    "'instances' has the PNGs of SegmentationObject");
    table.add("allow-missing", options_.allow_missing,
              "Leaves out a name from the lists if there is no picture or no annotation file with "
              "this name");
  }

  void check(const OptionTable& /*table*/) const override {
    require_different("splits", options_.splits);
    masks_.check();
  }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    VocOptions options = set_by(options_, arguments);
    options.semantic_masks = masks_.has(kSemanticMask);
    options.instance_masks = masks_.has(kInstanceMasks);
    return open_voc(arguments.path, options);
  }

 private:
  VocOptions options_;
  MaskFields masks_{{kSemanticMask, kInstanceMasks}};
};

}  // namespace

std::unique_ptr<Source> open_voc(const fs::path& path, const VocOptions& options) {
  const PlacesListed listed;
  return make_annotated_source(VocSet(Place(path).path(), options).take());
}

SourceKind voc_kind() {
  return {.name = "voc",
          .description = "Pascal VOC: pictures with boxes in XML files",
          .example = "/data/VOCdevkit/VOC2012 /fast/voc",
          .options = make_source_options<VocKind>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 42};
}

}  // namespace ffkit
