// Persons: one record a person of annotated pictures.

#include <algorithm>
#include <map>

#include <ffkit/base/option_names.h>
#include <ffkit/pose/person_record.h>
#include <ffkit/sources/persons.h>

#include "coco/coco_listing.h"
#include "coco/person_file.h"
#include "converter/input/listed_source.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "persons/person_values.h"
#include "pictures/image_sample.h"

namespace ffkit {
namespace {

struct PersonSplit {
  CocoListing from;
  PersonFile file;
  std::vector<ChosenPerson> chosen;
  std::vector<FileStamp> stamps;  // of the pictures' files; -1 bytes: not looked at, or not there
  std::map<std::string, std::string> facts;
  std::map<size_t, std::vector<double>> valid_roots;  // [R, 3] of each picture
};

// Splits as a set is published.
std::vector<CocoListing> list_persons(const fs::path& path, const PersonsOptions& options,
                                      std::vector<std::string>& notes) {
  require_source_folder(path);
  const bool is_given = !options.annotations.empty() || !options.images.empty();
  if (options.set == "human36m") {
    return {{"train", path / "annotations", path / "images"},
            {"test", path / "annotations", path / "images"}};
  }
  if (is_given || options.set == "mscoco") {
    return list_coco(
        path, {.annotations = options.annotations, .images = options.images, .keypoints = true},
        notes);
  }
  std::vector<CocoListing> found;
  const auto add = [&](const char* split, const fs::path& file, const fs::path& images) {
    if (exists_at(path / file)) found.push_back({split, path / file, path / images});
  };
  if (options.set == "muco") add("train", "MuCo-3DHP.json", "");
  if (options.set == "mupots") add("test", "MuPoTS-3D.json", "MultiPersonTestSet");
  if (options.set == "mpii") add("train", fs::path("annotations") / "train.json", "");
  if (options.set == "3dpw") {
    for (const char* split : {"train", "validation", "test"}) {
      add(split, fmt::format("3DPW_{}.json", split), "imageFiles");
    }
  }
  if (found.empty()) {
    throw source_error(path, ErrorCode::not_found,
                       "the folder does not contain {} in its published form; name the annotation "
                       "file with {} and the folder of pictures with {}",
                       options.set, option_name("annotations"), option_name("images"));
  }
  return found;
}

PersonsOptions resolved(PersonsOptions options) {
  check_options(options);
  const PersonSet& set = person_set(options.set);
  const auto take = [](int64_t& value, int64_t otherwise) {
    if (value < 0) value = otherwise;
  };
  take(options.min_distance, set.min_distance);
  take(options.min_depth, set.min_depth);
  take(options.max_depth, set.max_depth);
  if (!set.has_depth &&
      (options.min_distance > 0 || options.min_depth > 0 || options.max_depth > 0)) {
    throw error_of(ErrorCode::invalid_argument,
                   "{} has no depths, so {}, {} and {} have no effect; leave out these options",
                   options.set, option_name("min_distance"), option_name("min_depth"),
                   option_name("max_depth"));
  }
  if (options.min_distance > 0 && set.says_what_is_valid) {
    throw error_of(
        ErrorCode::invalid_argument,
        "{0} has no effect on {1}, because ffconvert uses all valid persons of {1}; leave out {0}",
        option_name("min_distance"), options.set);
  }
  if (options.set == "human36m" && !options.annotations.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "human36m has three files for each subject in SRC/annotations; leave out " +
                    option_name("annotations"));
  }
  return options;
}

class Persons : public ListedSource {
 public:
  Persons(const fs::path& path, const PersonsOptions& options)
      : path_(path),
        options_(resolved(options)),
        set_(person_set(options_.set)),
        storer_(as_they_are(options.store)) {
    std::vector<CocoListing> listings = list_persons(path, options_, notes_);
    if (!options_.detections.empty() && listings.size() > 1 && options_.set != "human36m") {
      throw source_error(path, ErrorCode::invalid_argument,
                         "has several splits, but {} are for one split; name it with {} and {}",
                         option_name("detections"), option_name("annotations"),
                         option_name("images"));
    }
    for (CocoListing& found : listings) add_split(std::move(found));
  }

  Schema schema() const override { return person_schema(); }

  std::map<std::string, std::string> facts(size_t split) const override {
    return splits_.at(split).facts;
  }

  std::map<std::string, std::string> options() const override {
    std::map<std::string, std::string> out = manifest_options(storer_.storage());
    out["persons"] = options_.set;
    out["box_percent"] = std::to_string(options_.box_percent);
    const auto add = [&](const char* name, int64_t value) {
      if (value > 0) out[name] = std::to_string(value);
    };
    add("min_distance", options_.min_distance);
    add("min_depth", options_.min_depth);
    add("max_depth", options_.max_depth);
    add("min_box", options_.min_box);
    if (options_.set == "human36m") {
      add("protocol", options_.protocol);
      add("frame_step", options_.frame_step);
    }
    if (!options_.detections.empty()) out["detections"] = options_.detections.filename().string();
    return out;
  }

  bool checks_headers_only() const override { return storer_.checks_headers_only(); }
  std::vector<fs::path> roots() const override {
    std::vector<fs::path> roots = {path_};
    for (const PersonSplit& split : splits_) roots.push_back(split.from.images);
    return roots;
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return splits_.at(split).stamps.at(chosen(split, index).picture).num_bytes;
  }

  SampleIdentity identity(size_t split, int64_t index) const override {
    const FileStamp& stamp = splits_.at(split).stamps.at(chosen(split, index).picture);
    return {.name = id_of(split, index),
            .num_bytes = stamp.num_bytes,
            .modified = static_cast<uint64_t>(stamp.modified_ns)};
  }

  std::optional<std::string> listed_id(size_t split, int64_t index) const override {
    return id_of(split, index);
  }

  std::vector<SourceInput> inputs(size_t split) const override {
    return splits_.at(split).file.inputs;
  }

  void will_read(size_t split, int64_t index) const override {
    announce_range(describe(split, index), 0, sample_bytes(split, index));
  }

  std::string describe(size_t split, int64_t index) const override {
    return (splits_.at(split).from.images / picture_of(split, index).file_name).string();
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    const PersonSplit& from = splits_.at(split);
    const ChosenPerson& chosen_person = chosen(split, index);
    const PersonPicture& picture = picture_of(split, index);
    const std::string origin = describe(split, index);
    const std::span<const std::byte> bytes =
        read_listed_file(origin, from.stamps[chosen_person.picture], buffers);
    const ImageStorer::Stored stored = of_sample(origin, [&] {
      const ImageStorer::Stored made = storer_.store(bytes, picture.file_name, buffers);
      const auto [width, height] = made.size;
      if (width != picture.width || height != picture.height) {
        throw error_of(ErrorCode::invalid_argument,
                       "the picture has {} x {} pixels, but its annotations say {} x {} pixels, so "
                       "its boxes and joints do not fit",
                       width, height, picture.width, picture.height);
      }
      return made;
    });
    static const AnnotatedPerson kNone;
    const AnnotatedPerson& person =
        chosen_person.person < 0 ? kNone
                                 : from.file.people[static_cast<size_t>(chosen_person.person)];
    const auto valid = from.valid_roots.find(chosen_person.picture);
    set_person({.image = stored.bytes,
                .image_id = picture.id,
                .annotation_id = chosen_person.annotation_id,
                .width = picture.width,
                .height = picture.height,
                .box = chosen_person.box,
                .annotated = chosen_person.annotated,
                .camera = picture.camera,
                .root_image = person.root_image,
                .root_camera = person.root_camera,
                .visible = person.visible,
                .has_depth = set_.has_depth && chosen_person.person >= 0,
                .score = chosen_person.score,
                .joints = person.joints,
                .picture_roots = valid == from.valid_roots.end() ? std::span<const double>()
                                                                 : std::span(valid->second),
                .id = id_of(split, index)},
               record, buffers);
  }

 private:
  const ChosenPerson& chosen(size_t split, int64_t index) const {
    return splits_.at(split).chosen.at(static_cast<size_t>(index));
  }
  const PersonPicture& picture_of(size_t split, int64_t index) const {
    return splits_.at(split).file.pictures[chosen(split, index).picture];
  }
  std::string id_of(size_t split, int64_t index) const {
    return fmt::format("{}#{}", picture_of(split, index).file_name,
                       chosen(split, index).annotation_id);
  }

  PersonFile read_file(const CocoListing& from) const {
    if (options_.set != "human36m") return read_person_file(from.annotations, set_);
    const bool trains = from.split == "train";
    const bool is_first = options_.protocol == 1;
    std::vector<int64_t> subjects = {9, 11};
    if (is_first) subjects = {11};
    if (trains) subjects = {1, 5, 6, 7, 8};
    if (trains && is_first) subjects.push_back(9);
    const int64_t step = options_.frame_step > 0 ? options_.frame_step : (trains ? 5 : 64);
    return read_human36m(from.annotations, subjects, step);
  }

  void add_split(CocoListing from) {
    const bool is_training = from.split.starts_with("train");
    PersonSplit split{.from = std::move(from), .file = {}};
    split.file = read_file(split.from);
    for (const PersonPicture& picture : split.file.pictures) {
      require_safe_name(picture.id, picture.file_name, split.from.annotations);
    }
    std::vector<PersonDetection> detections;
    // Detections are for testing.
    const bool has_detections =
        !options_.detections.empty() && !(options_.set == "human36m" && is_training);
    if (has_detections) {
      const fs::path below = path_ / options_.detections;
      detections =
          read_person_detections(exists_at(below) ? below : options_.detections, split.file.inputs);
    }
    PersonSelection selection =
        select_persons(split.file, set_, options_, has_detections ? &detections : nullptr);
    split.chosen = std::move(selection.chosen);
    split.facts = {{"kind", "persons"},
                   {pose::kSetFact, options_.set},
                   {"path", absolute_name(path_)},
                   {"annotations", absolute_name(split.from.annotations)},
                   {"images", absolute_name(split.from.images)}};
    if (set_.says_what_is_valid) {
      int64_t num_valid = 0;
      for (const AnnotatedPerson& person : split.file.people) {
        if (!person.is_valid) continue;
        ++num_valid;
        std::vector<double>& roots = split.valid_roots[person.picture];
        roots.insert(roots.end(), person.root_camera.begin(), person.root_camera.end());
      }
      split.facts[pose::kValidRootsFact] = std::to_string(num_valid);
    }
    look_at_pictures(split);
    note_selection(split, selection.left_out);
    SourceSplit info{.name = split.from.split,
                     .num_samples = std::ssize(split.chosen),
                     .is_training = is_training};
    for (const ChosenPerson& person : split.chosen) {
      info.num_bytes += split.stamps[person.picture].num_bytes;
    }
    infos_.push_back(std::move(info));
    splits_.push_back(std::move(split));
  }

  // Only at those that are taken.
  void look_at_pictures(PersonSplit& split) {
    std::vector<std::string> names(split.file.pictures.size());  // empty: not taken
    for (const ChosenPerson& person : split.chosen) {
      names[person.picture] = split.file.pictures[person.picture].file_name;
    }
    split.stamps = look_at_files(split.from.images, names);
    std::vector<std::string> missing;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty() && split.stamps[i].num_bytes < 0) missing.push_back(names[i]);
    }
    std::erase_if(split.chosen, [&](const ChosenPerson& person) {
      return split.stamps[person.picture].num_bytes < 0;
    });
    say_missing(split.from.images, missing,
                names.size() - static_cast<size_t>(std::ranges::count(names, "")),
                "pictures with persons", split.from,
                options_.allow_missing && !split.chosen.empty(), notes_);
  }

  void note_selection(PersonSplit& split, const std::map<std::string, int64_t>& left_out) {
    std::vector<std::string> reasons;
    for (const auto& [why, count] : left_out) {
      reasons.push_back(fmt::format("{} ({})", count, why));
      split.facts["left out: " + why] = std::to_string(count);
    }
    if (split.chosen.empty()) {
      throw source_error(split.from.annotations, ErrorCode::invalid_argument,
                         "the file has no person that ffkit can use; the persons left out are {}",
                         reasons.empty() ? "none" : fmt::format("{}", fmt::join(reasons, ", ")));
    }
    if (!reasons.empty()) {
      add_note(notes_, split.from.split, "{} persons are used; left out: {}", split.chosen.size(),
               fmt::join(reasons, ", "));
    }
  }

  const fs::path path_;
  const PersonsOptions options_;
  const PersonSet& set_;
  const ImageStorer storer_;
  std::vector<PersonSplit> splits_;
};

}  // namespace

std::unique_ptr<Source> open_persons(const fs::path& path, const PersonsOptions& options) {
  const PlacesListed listed;
  return std::make_unique<Persons>(Place(path).path(), options);
}

}  // namespace ffkit
