#include <simdjson.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <ffkit/base/option_names.h>
#include <ffkit/sources/webdataset.h>

#include "base/printable.h"
#include "converter/input/input_file.h"
#include "converter/input/listed_source.h"
#include "converter/input/sample_arrays.h"
#include "converter/input/source_error.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "files/decompressed_files.h"
#include "files/file_group.h"
#include "files/shard_files.h"
#include "files/text_files.h"
#include "format/content_kind.h"
#include "format/schema/npy_header.h"
#include "webdataset/webdataset_shard.h"

namespace ffkit {
namespace {

struct Member {
  size_t field = 0;     // the number of fields for the sample's id
  uint64_t number = 0;  // of a frame
  FileRange data;
};

struct Sample {
  std::string key;
  uint32_t file = 0;
  uint32_t num_members = 0;
  size_t first_member = 0;  // in Split::members
};

struct WebDatasetSplit {
  std::string name;
  FileGroup files;
  DecompressedFiles decompressed;
  std::vector<Sample> samples;
  std::vector<Member> members;
};

constexpr const char* kJson = "json";
constexpr const char* kLabel = "label";

class WebDataset : public ListedPictures {
 public:
  WebDataset(const fs::path& path, const WebDatasetOptions& options)
      : ListedPictures(as_they_are(options.store, options.exif)),
        path_(path),
        max_sample_bytes_(options.max_sample_bytes),
        takes_frames_(options.numbered_frames),
        label_key_(options.label_key),
        id_member_(in_lower_case(options.id_member)) {
    ShardListing listing =
        files_to_take(options.group, [&] { return find_shards(path, names_ending_in(".tar")); });
    notes_ = std::move(listing.notes);
    if (!options.classes.empty()) classes_ = read_class_list(options.classes);
    std::vector<std::vector<WebDatasetShard>> shards;
    std::set<std::string> extensions;
    std::set<std::string> rivals;
    std::vector<FileGroup> files;
    std::vector<DecompressedFiles> decompressed;
    for (ShardSplit& split : listing.splits) {
      files.emplace_back(std::move(split.files));
      decompressed.emplace_back(files.back(), options.temporary_folder, options.cancel, "tar");
      shards.push_back(list_webdataset_shards(files.back(), decompressed.back()));
      for (const WebDatasetShard& shard : shards.back()) {
        extensions.insert(shard.extensions.begin(), shard.extensions.end());
        find_rivals(shard, rivals);
      }
    }
    const auto* const found = found_before<FoundMembers>(options.group);
    if (found != nullptr) {
      fields_ = found->fields;
      names_ = names_as_before(*found, {extensions, id_member_, takes_frames_},
                               paths_of(*options.group));
      has_several_images_ = std::ranges::count_if(fields_, has_pictures) > 1;
    } else {
      if (options.group != nullptr && extensions.empty()) throw no_samples(options.group->split);
      make_fields(extensions, rivals);
    }
    for (size_t i = 0; i < listing.splits.size(); ++i) {
      add_split(listing.splits[i], std::move(files[i]), std::exchange(shards[i], {}),
                std::move(decompressed[i]));
    }
    require_all_fields(options.allow_missing);
    if (found != nullptr) return;
    look_at_members();
    keep_found(options.group, FoundMembers{fields_, names_});
  }

  Schema schema() const override {
    Schema schema;
    for (const WebDatasetField& field : fields_) schema.fields.push_back(field.field());
    schema.fields.push_back({"id", FieldType::string, DType::u8, true});
    return schema;
  }

  std::map<std::string, std::string> facts(size_t split) const override {
    return {{"kind", "webdataset"},
            {"path", absolute_name(path_)},
            {"shards", std::to_string(splits_.at(split).files.paths().size())}};
  }

  bool checks_headers_only() const override {
    return std::ranges::any_of(fields_, has_pictures) && ListedPictures::checks_headers_only();
  }

  std::vector<fs::path> roots() const override { return root_if_folder(path_); }

  SampleIdentity identity(size_t split, int64_t index) const override {
    const WebDatasetSplit& from = splits_.at(split);
    const Sample& found = sample(split, index);
    return {
        .name = fmt::format("{}: {}", name_below(path_, from.files.paths()[found.file]), found.key),
        .num_bytes = range_of(from, found).num_bytes};
  }

  std::optional<std::string> listed_id(size_t split, int64_t index) const override {
    if (!id_member_.empty()) return std::nullopt;
    return std::string(sample(split, index).key);
  }

  std::vector<SourceInput> inputs(size_t split) const override {
    const FileGroup& files = splits_.at(split).files;
    return inputs_of_files(path_, files.paths(), files.stamps());
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return range_of(splits_.at(split), sample(split, index)).num_bytes;
  }

  void will_read(size_t split, int64_t index) const override {
    const WebDatasetSplit& from = splits_.at(split);
    const Sample& found = sample(split, index);
    const FileRange range = range_of(from, found);
    if (!from.decompressed.find(found.file)) {
      from.files.will_read(found.file, range.offset, range.num_bytes);
    }
  }

  std::string describe(size_t split, int64_t index) const override {
    const Sample& found = sample(split, index);
    return fmt::format("{}: {}", splits_.at(split).files.paths()[found.file].string(), found.key);
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    const WebDatasetSplit& from = splits_.at(split);
    const Sample& found = sample(split, index);
    // The members lie side by side: one read brings them all, with the headers between them.
    const FileRange range = range_of(from, found);
    require_sample_size(range.num_bytes, max_sample_bytes_, {.path = describe(split, index)});
    const std::span<std::byte> bytes = buffers.bytes(static_cast<size_t>(range.num_bytes));
    read_file(from, found.file, range.offset, bytes);
    std::map<size_t, Frames> frames;  // by field
    std::string_view id = found.key;
    for (size_t i = found.first_member; i < found.first_member + found.num_members; ++i) {
      const Member& member = from.members[i];
      std::span<const std::byte> data =
          bytes.subspan(static_cast<size_t>(member.data.offset - range.offset),
                        static_cast<size_t>(member.data.num_bytes));
      if (member.field == fields_.size()) {
        id = id_of(data, describe(split, index));
        continue;
      }
      const WebDatasetField& field = fields_[member.field];
      try {
        if (field.kind == WebDatasetKind::frames) {
          const std::string name = fmt::format("{}/{}", field.name, member.number);
          frames[member.field].emplace_back(member.number,
                                            storer_.store(data, found.key, buffers, name).bytes);
          continue;
        }
        if (field.kind == WebDatasetKind::image) {
          data =
              storer_.store(data, found.key, buffers, has_several_images_ ? field.name : "").bytes;
        }
        set_webdataset_field(record, member.field, field, data, classes_);
        if (label_key_.empty() || field.name != kJson) continue;
        set_label_in_json(record, number_of(kLabel), label_key_, data, classes_);
      } catch (const Error& error) {
        if (is_out_of_memory(error)) throw;
        throw error.with_message(fmt::format("field '{}': {}", field.name, error.message()))
            .within({.path = describe(split, index)});
      }
    }
    for (auto& [field, numbered] : frames) {
      set_frames(record, field, numbered, describe(split, index));
    }
    record.set_string(fields_.size(), id);
  }

 private:
  using Frames = std::vector<std::pair<uint64_t, std::span<const std::byte>>>;

  std::string_view id_of(std::span<const std::byte> data, const std::string& origin) const {
    const std::string_view id(reinterpret_cast<const char*>(data.data()), data.size());
    if (id.empty() || !simdjson::validate_utf8(id)) {
      throw error_at(origin, ErrorCode::corrupt, "the id in the file '.{}' of the sample is {}",
                     id_member_, id.empty() ? "empty" : "not UTF-8 text");
    }
    return id;
  }

  static bool has_pictures(const WebDatasetField& field) {
    return field.kind == WebDatasetKind::image || field.kind == WebDatasetKind::frames;
  }

  void set_frames(RecordBuilder& record, size_t field, Frames& frames,
                  const std::string& origin) const {
    const auto number_of = [](const auto& frame) { return frame.first; };
    std::ranges::sort(frames, {}, number_of);
    const auto twice = std::ranges::adjacent_find(frames, {}, number_of);
    if (twice != frames.end()) {
      throw error_at(origin, ErrorCode::invalid_argument,
                     "field '{}': two frames have the number {}; a frame must have one picture",
                     fields_[field].name, twice->first);
    }
    std::vector<std::span<const std::byte>> pictures;
    pictures.reserve(frames.size());
    for (const auto& frame : frames) pictures.push_back(frame.second);
    record.set_list(field, pictures);
  }

  // The frame that a member is, where frames are taken.
  std::optional<FrameName> frame_of(const std::string& extension) const {
    return takes_frames_ ? frame_of_extension(extension) : std::nullopt;
  }

  static void read_file(const WebDatasetSplit& split, size_t file, int64_t offset,
                        std::span<std::byte> out) {
    if (const auto place = split.decompressed.find(file)) {
      place->file.read_at(offset, out);
    } else {
      split.files.read_at(file, offset, out);
    }
  }

  const Sample& sample(size_t split, int64_t index) const {
    return splits_.at(split).samples.at(static_cast<size_t>(index));
  }

  static FileRange range_of(const WebDatasetSplit& split, const Sample& sample) {
    const FileRange& first = split.members[sample.first_member].data;
    const FileRange& last = split.members[sample.first_member + sample.num_members - 1].data;
    return {first.offset, last.offset + last.num_bytes - first.offset};
  }

  // Pictures first, then labels, then the rest by name: a plain data set gets
  // image_classification_schema().
  void make_fields(const std::set<std::string>& extensions, const std::set<std::string>& rivals) {
    if (!id_member_.empty() && !extensions.contains(id_member_)) {
      throw source_error(path_, ErrorCode::invalid_argument,
                         "no sample has the member '.{}' that {} names; leave out the option if "
                         "the keys are the ids",
                         id_member_, option_name("id_member"));
    }
    for (const std::string& extension : extensions) {
      if (extension == id_member_) continue;
      WebDatasetField field{.name = field_of_extension(extension, rivals.contains(extension)),
                            .kind = kind_of_extension(extension)};
      if (const std::optional<FrameName> frame = frame_of(extension)) {
        field = {.name = frame->field, .kind = WebDatasetKind::frames};
      }
      const auto same = std::ranges::find(fields_, field.name, &WebDatasetField::name);
      if (field.name == "id" ||
          (same != fields_.end() && (!has_pictures(field) || same->kind != field.kind))) {
        throw source_error(path_, ErrorCode::unsupported,
                           "members with the extension '.{}' would become a second field '{}'; "
                           "write the tars with another extension",
                           extension, field.name);
      }
      if (same == fields_.end()) fields_.push_back(field);
      names_[extension] = field.name;
    }
    if (!label_key_.empty()) {
      if (number_of(kLabel) < fields_.size() || number_of(kJson) == fields_.size()) {
        throw source_error(path_, ErrorCode::invalid_argument,
                           "{} needs members '.json' and no other members with labels",
                           option_name("label_key"));
      }
      fields_.push_back({.name = kLabel, .kind = WebDatasetKind::label});
    }
    has_several_images_ = std::ranges::count_if(fields_, has_pictures) > 1;
    std::ranges::stable_sort(fields_, {}, [](const WebDatasetField& field) {
      return std::pair(std::min(field.kind, WebDatasetKind::text), field.name);
    });
  }

  size_t number_of(const char* field) const {
    return std::ranges::find(fields_, field, &WebDatasetField::name) - fields_.begin();
  }

  NoSamples no_samples(const std::string& split) const {
    return NoSamples(
        source_error(path_, ErrorCode::not_found, "split '{}' contains no samples", split));
  }

  void add_split(const ShardSplit& listed, FileGroup files, std::vector<WebDatasetShard> shards,
                 DecompressedFiles decompressed) {
    if (!decompressed.note().empty()) {
      add_note(notes_, path_.string(), "split '{}': {}", listed.name, decompressed.note());
    }
    WebDatasetSplit split{
        .name = listed.name, .files = std::move(files), .decompressed = std::move(decompressed)};
    int64_t num_ignored = 0;
    SourceSplit info{.name = listed.name, .is_training = listed.is_training};
    for (size_t file = 0; file < shards.size(); ++file) {
      const WebDatasetShard shard = std::exchange(shards[file], {});
      num_ignored += shard.num_ignored;
      std::vector<Member> kinds;  // by extension
      for (const std::string& extension : shard.extensions) {
        if (extension == id_member_) {
          kinds.push_back({.field = fields_.size(), .data = {}});  // behind all fields
          continue;
        }
        const auto field = std::ranges::find(fields_, names_.at(extension), &WebDatasetField::name);
        const std::optional<FrameName> frame = frame_of(extension);
        kinds.push_back({.field = static_cast<size_t>(field - fields_.begin()),
                         .number = frame ? frame->number : 0,
                         .data = {}});
      }
      size_t first = split.members.size();
      for (const WebDatasetSample& found : shard.samples) {
        split.samples.push_back({found.key, static_cast<uint32_t>(file),
                                 static_cast<uint32_t>(found.num_members), first});
        first += found.num_members;
      }
      for (const WebDatasetMember& member : shard.members) {
        split.members.push_back(kinds[member.extension]);
        split.members.back().data = member.data;
        info.num_bytes += member.data.num_bytes;
      }
    }
    if (num_ignored > 0) {
      add_note(
          notes_, path_.string(),
          "split '{}': {} members without a sample (no extension, hidden, __name__) were left out",
          split.name, num_ignored);
    }
    info.num_samples = std::ssize(split.samples);
    if (info.num_samples == 0) throw no_samples(split.name);
    note_equal_keys(split);
    infos_.push_back(std::move(info));
    splits_.push_back(std::move(split));
  }

  void note_equal_keys(const WebDatasetSplit& split) {
    std::vector<std::string_view> keys;
    for (const Sample& sample : split.samples) keys.push_back(sample.key);
    std::ranges::sort(keys);
    const auto same = std::ranges::adjacent_find(keys);
    if (same == keys.end()) return;
    add_note(notes_, path_.string(),
             "split '{}': samples of different tars have the same key, such as '{}', and so the "
             "same id",
             split.name, *same);
  }

  // What else helps where a field is one of numbered pictures.
  std::string frames_remedy(size_t field) const {
    if (takes_frames_) return {};
    for (const auto& [extension, name] : names_) {
      if (name != fields_[field].name || !frame_of_extension(extension)) continue;
      return fmt::format("; if '{}' and others are frames of a video, make them one list with {}",
                         extension, option_on("numbered_frames"));
    }
    return {};
  }

  void require_all_fields(bool allow_missing) {
    std::vector<int64_t> num_missing(fields_.size(), 0);
    for (size_t s = 0; s < splits_.size(); ++s) {
      for (size_t i = 0; i < splits_[s].samples.size(); ++i) {
        const Sample& sample = splits_[s].samples[i];
        std::vector<bool> is_there(fields_.size() + 1, false);  // the last one: the id's member
        for (size_t m = 0; m < sample.num_members; ++m) {
          is_there[splits_[s].members[sample.first_member + m].field] = true;
        }
        if (!label_key_.empty()) is_there[number_of(kLabel)] = is_there[number_of(kJson)];
        for (size_t field = 0; field < fields_.size(); ++field) {
          if (is_there[field]) continue;
          ++num_missing[field];
          if (allow_missing) continue;
          throw error_at(describe(s, static_cast<int64_t>(i)), ErrorCode::invalid_argument,
                         "the sample has no member for the field '{}', but other samples have this "
                         "member; add the member, or leave such fields empty with {}{}",
                         fields_[field].name, option_on("allow_missing"), frames_remedy(field));
        }
      }
    }
    for (size_t field = 0; field < fields_.size(); ++field) {
      if (num_missing[field] == 0) continue;
      add_note(notes_, path_.string(), "field '{}' is null in {} samples", fields_[field].name,
               num_missing[field]);
    }
  }

  // Of tensors: from the first sample that has one.
  // What the first member of a field tells.
  void look_at_members() {
    for (size_t i = 0; i < fields_.size(); ++i) {
      WebDatasetField& field = fields_[i];
      if (field.kind == WebDatasetKind::tensor) {
        with_first(i, max_sample_bytes_,
                   [&](auto bytes) { field.dtype = read_npy_header(bytes).dtype; });
      } else if (field.kind == WebDatasetKind::bytes) {
        with_first(i, kContentHeadBytes, [&](auto head) { take_picture(field, head); });
      }
    }
    has_several_images_ = std::ranges::count_if(fields_, has_pictures) > 1;
  }

  void take_picture(WebDatasetField& field, std::span<const std::byte> head) {
    const std::string before = field.name;
    const std::string note = settle_picture(
        field, head, std::ranges::find(fields_, "image", &WebDatasetField::name) != fields_.end());
    if (!note.empty()) add_note(notes_, path_.string(), "{}", note);
    for (auto& [_, name] : names_) name = name == before ? field.name : name;
  }

  // Calls use() with the beginning of the first member of a field.
  template <typename Use>
  void with_first(size_t field, int64_t max_bytes, const Use& use) const {
    for (size_t s = 0; s < splits_.size(); ++s) {
      for (size_t i = 0; i < splits_[s].samples.size(); ++i) {
        const Sample& sample = splits_[s].samples[i];
        for (size_t m = 0; m < sample.num_members; ++m) {
          const Member& member = splits_[s].members[sample.first_member + m];
          if (member.field != field || member.data.num_bytes > max_sample_bytes_) continue;
          std::vector<std::byte> bytes(
              static_cast<size_t>(std::min(member.data.num_bytes, max_bytes)));
          read_file(splits_[s], sample.file, member.data.offset, bytes);
          try {
            return use(std::span<const std::byte>(bytes));
          } catch (const Error& error) {
            throw error
                .with_message(fmt::format("field '{}': {}", fields_[field].name, error.message()))
                .within({.path = describe(s, static_cast<int64_t>(i))});
          }
        }
      }
    }
  }

  const fs::path path_;
  const int64_t max_sample_bytes_;
  const bool takes_frames_;
  const std::string label_key_;  // empty: labels are members of their own
  const std::string id_member_;  // in lower case, as extensions are; empty: none
  bool has_several_images_ = false;
  std::vector<WebDatasetField> fields_;
  std::map<std::string, std::string> names_;  // extension to field
  std::vector<WebDatasetSplit> splits_;
};

}  // namespace

std::unique_ptr<Source> open_webdataset(const fs::path& path, const WebDatasetOptions& options) {
  const PlacesListed listed;
  return std::make_unique<WebDataset>(Place(path).path(), options);
}

FileListing webdataset_files(const fs::path& path, const WebDatasetOptions& /*options*/) {
  const PlacesListed listed;
  return file_listing(find_shards(Place(path).path(), names_ending_in(".tar")));
}

}  // namespace ffkit
