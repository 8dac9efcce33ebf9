#include "pictures/image_source.h"

#include <span>

#include "base/fnv.h"
#include "converter/input/listed_source.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "pictures/image_sample.h"

namespace ffkit {
namespace {

class ImageSource : public ListedPictures {
 public:
  explicit ImageSource(ImageSet set) : ListedPictures(set.storage), set_(std::move(set)) {
    for (const ImageSplit& split : set_.splits) {
      if (split.entries.empty()) {
        throw source_error(split.path, ErrorCode::not_found, "there are no pictures here");
      }
      SourceSplit info{.name = split.name,
                       .num_samples = std::ssize(split.entries),
                       .is_training = split.is_training};
      for (const ImageEntry& entry : split.entries) info.num_bytes += entry.data.num_bytes;
      infos_.push_back(std::move(info));
    }
    for (const std::string& name : set_.classes) {
      require_utf8_name(name, fmt::format("class '{}'", name));
    }
    if (infos_.empty()) {
      throw source_error(set_.path, ErrorCode::not_found, "there are no pictures here");
    }
  }

  Schema schema() const override {
    Schema schema = image_classification_schema();
    if (set_.is_multi_label) schema.fields[1] = {"labels", FieldType::tensor, DType::i64};
    return schema;
  }
  const std::vector<std::string>& classes() const override { return set_.classes; }
  const std::vector<std::string>& class_names() const override { return set_.class_names; }
  const std::vector<std::string>& notes() const override { return set_.notes; }

  std::map<std::string, std::string> facts(size_t split) const override {
    const ImageSplit& images = set_.splits.at(split);
    std::map<std::string, std::string> facts = {{"kind", set_.kind},
                                                {"path", absolute_name(set_.path)}};
    if (images.archive) facts["archive"] = images.path.filename().string();
    return facts;
  }

  std::vector<fs::path> roots() const override { return set_.roots; }

  SampleIdentity identity(size_t split, int64_t index) const override {
    const ImageEntry& image = entry(split, index);
    return {.name = image.id,
            .num_bytes = image.data.num_bytes,
            .content = set_.is_multi_label ? hash_of(labels_of(split, image))
                                           : static_cast<uint64_t>(image.label),
            .modified = static_cast<uint64_t>(image.modified_ns)};
  }

  std::optional<std::string> listed_id(size_t split, int64_t index) const override {
    return entry(split, index).id;
  }

  std::vector<SourceInput> inputs(size_t split) const override {
    const ImageSplit& images = set_.splits.at(split);
    if (!images.archive) {
      std::vector<SourceInput> inputs;
      for (const auto& [folder, archive] : images.class_archives) {
        inputs.push_back({.name = archive.path.lexically_relative(images.path).string(),
                          .num_bytes = archive.stamp.num_bytes,
                          .modified_ns = archive.stamp.modified_ns});
      }
      return inputs;
    }
    return {{.name = images.path.filename().string(),
             .num_bytes = images.archive->size(),
             .modified_ns = images.archive->modified_ns()}};
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return storer_.memory_bytes(entry(split, index).data.num_bytes);
  }

  fs::path archive(size_t split) const override {
    const ImageSplit& images = set_.splits.at(split);
    return images.archive ? images.path : fs::path();
  }

  void will_read(size_t split, int64_t index) const override {
    const ImageSplit& images = set_.splits.at(split);
    const FileRange& data = entry(split, index).data;
    if (images.archive) {
      images.archive->will_read(data.offset, data.num_bytes);
    } else if (const auto class_archive = images.class_archives.find(entry(split, index).folder);
               class_archive != images.class_archives.end()) {
      announce_range(class_archive->second.path, data.offset, data.num_bytes);
    } else {
      announce_range(images.path / entry(split, index).id, 0, data.num_bytes);
    }
  }

  int64_t position(size_t split, int64_t index) const override {
    return set_.splits.at(split).archive ? entry(split, index).data.offset : index;
  }

  std::string describe(size_t split, int64_t index) const override {
    const ImageSplit& images = set_.splits.at(split);
    const ImageEntry& image = entry(split, index);
    const auto class_archive = images.class_archives.find(image.folder);
    if (class_archive != images.class_archives.end()) {
      return class_archive->second.path.string() + ": " + image.id;
    }
    return images.archive ? images.path.string() + ": " + image.id
                          : (images.path / image.id).string();
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    const ImageSplit& images = set_.splits.at(split);
    const ImageEntry& image = entry(split, index);
    const std::string origin = describe(split, index);
    require_utf8_name(image.id, origin);
    std::span<const std::byte> bytes;
    const auto read_from = [&](const InputFile& file) {
      require_image_size(image.data.num_bytes, origin);
      const std::span<std::byte> read = buffers.bytes(static_cast<size_t>(image.data.num_bytes));
      file.read_at(image.data.offset, read);
      bytes = read;
    };
    if (images.archive) {
      read_from(*images.archive);
    } else if (const auto class_archive = images.class_archives.find(image.folder);
               class_archive != images.class_archives.end()) {
      // Opened for each picture: there are more of them than a process may have open files.
      read_from(InputFile(class_archive->second.path, class_archive->second.stamp));
    } else {
      bytes = read_listed_file(
          images.path / image.id,
          {.num_bytes = image.data.num_bytes, .modified_ns = image.modified_ns}, buffers);
    }
    if (!set_.is_multi_label) {
      return set_image_sample(record, bytes, image.label, image.id, origin, storer_, buffers);
    }
    record.set_bytes(
        0, of_sample(origin, [&] { return storer_.store(bytes, image.id, buffers); }).bytes);
    const std::span<const int64_t> labels = labels_of(split, image);
    record.set_tensor(1, {DType::i64, {std::ssize(labels)}, std::as_bytes(labels)});
    record.set_string(2, image.id);
  }

 private:
  std::span<const int64_t> labels_of(size_t split, const ImageEntry& image) const {
    return set_.splits.at(split).labels.at(image.id);
  }
  static uint64_t hash_of(std::span<const int64_t> labels) {
    return fnv1a64(std::as_bytes(labels));
  }

  const ImageEntry& entry(size_t split, int64_t index) const {
    return set_.splits.at(split).entries.at(static_cast<size_t>(index));
  }

  const ImageSet set_;
};

}  // namespace

std::unique_ptr<Source> make_image_source(ImageSet set) {
  return std::make_unique<ImageSource>(std::move(set));
}

}  // namespace ffkit
