#include "export/files_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <initializer_list>
#include <span>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/image/image_codec.h>

#include "base/printable.h"
#include "data/data_sets.h"
#include "format/schema/label_field.h"

namespace ffkit {
namespace {

std::string lower_extension(std::string_view name) {
  return in_lower_case(std::filesystem::path(name).extension().string());
}

constexpr std::string_view kJpegExtensions = ".jpg .jpeg .jpe .jfif";
constexpr std::string_view kPnmExtensions = ".ppm .pgm .pbm .pnm";

// Whether JPEGs of the split may have been made of pictures of other kinds, whose names are still
// in the ids. Of what was joined with others, the manifest does not say how each was converted.
bool may_be_encoded_anew(const Manifest& manifest) {
  const auto any_of = [](const auto& map, std::initializer_list<const char*> keys) {
    return std::ranges::any_of(keys, [&map](const char* key) { return map.contains(key); });
  };
  return any_of(manifest.options, {"fix_odd", "exif", "max_resolution", "short_side"}) ||
         any_of(manifest.source, {"path_1", "appended_1"});
}

// Whether `image` is no longer of the kind that the id, the name of the picture before it was
// stored, says.
bool has_become_another(std::span<const std::byte> image, std::string_view name,
                        bool is_encoded_anew) {
  const std::string extension = lower_extension(name);
  switch (detect_image_encoding(image)) {
    case ImageEncoding::ppm:
      return !has_word(kPnmExtensions, extension);
    case ImageEncoding::jpeg:
    case ImageEncoding::dct:
      return is_encoded_anew && !has_word(kJpegExtensions, extension);
    default:
      return false;
  }
}

}  // namespace

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

bool has_image_extension(std::string_view name) {
  const std::string extension = lower_extension(name);
  return has_word(kJpegExtensions, extension) || has_word(kPnmExtensions, extension) ||
         has_word(".png .bmp .tif .tiff .webp .gif", extension);
}

bool is_classification_schema(const Schema& schema) {
  const int id = schema.index_of("id");
  const bool has_id = id >= 0 && schema.fields[id].type == FieldType::string;
  const auto num_images = std::ranges::count(schema.fields, FieldType::image, &Field::type);
  return num_images == 1 && find_label_field(schema).has_value() &&
         schema.fields.size() == (has_id ? 3U : 2U);
}

void require_safe_path(const ExportSource& source, std::string_view path, std::string_view what,
                       int64_t record_index) {
  if (is_safe_path(path)) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} '{}' cannot be the path of a file; it must be relative, without "
                          "empty parts, '.' and '..'",
                          what, escaped(path)),
              {.path = source.dataset().path().string(), .record = record_index});
}

ExportNames::ExportNames(const ExportSource& source)
    : source_(source),
      is_classification_(is_classification_schema(source.schema())),
      is_encoded_anew_(may_be_encoded_anew(source.dataset().manifest())) {
  const Schema& schema = source.schema();
  require_safe_path(source, source.split(), "the name of the split");
  if (is_classification_) {
    image_field_ = static_cast<size_t>(
        std::ranges::find(schema.fields, FieldType::image, &Field::type) - schema.fields.begin());
    name_classes();
  } else {
    for (const Field& field : schema.fields) {
      require_safe_path(source, field.name, "the name of the field");
    }
  }
  const int64_t last = std::max<int64_t>(0, source.dataset().manifest().num_records() - 1);
  digits_ = static_cast<int>(std::to_string(last).size());
}

// Two classes of one name would become one, and "a/b" the class "a" of whoever reads the folders.
void ExportNames::name_classes() {
  std::unordered_set<std::string> taken;
  for (const std::string& name : source_.dataset().manifest().classes) {
    const size_t label = class_folders_.size();
    std::string folder = name.empty() ? std::to_string(label) : name;
    const auto is_odd = [](unsigned char c) { return c == '/' || std::iscntrl(c) != 0; };
    std::ranges::replace_if(folder, is_odd, '_');
    if (folder.starts_with('.')) folder[0] = '_';  // else hidden, or another folder
    while (!taken.insert(folder).second) folder += fmt::format("-{}", label);
    if (folder != name) {
      renamed_classes_.push_back(fmt::format("class {}, '{}', is '{}'", label, name, folder));
    }
    class_folders_.push_back(std::move(folder));
  }
}

std::vector<ExportNote> ExportNames::notes() const {
  std::vector<ExportNote> notes;
  if (!renamed_classes_.empty()) {
    notes.push_back({"folders with other names than their classes", renamed_classes_});
  }
  int64_t number = 0;
  const auto is_numbered = [&](const auto& folder) { return folder.second == number++; };
  if (!std::ranges::all_of(label_of_folder_, is_numbered)) {
    notes.push_back(
        {fmt::format("torchvision's ImageFolder will give other labels, because it numbers the "
                     "folders in the order of their names{}",
                     class_folders_.empty() ? "" : "; classes.txt has the order of the labels")});
  }
  return notes;
}

std::string ExportNames::record_number(int64_t record_index) const {
  return fmt::format("{:0{}}", record_index, digits_);
}

std::string ExportNames::classified_path(int64_t record_index, const RecordView& record) {
  const Schema& schema = source_.schema();
  std::string folder = "unlabelled";
  const auto label = label_of(schema, record);
  if (label) {
    const bool has_name = *label >= 0 && *label < std::ssize(class_folders_);
    folder = has_name ? class_folders_[static_cast<size_t>(*label)] : std::to_string(*label);
    require_safe_path(source_, folder, "the class", record_index);
  }
  label_of_folder_.emplace(folder, label.value_or(-1));
  std::string name;
  const int id_field = schema.index_of("id");
  if (id_field >= 0 && !record.is_null(id_field)) {
    name = record.string(id_field);
  }
  if (name.empty()) {
    name = record_number(record_index);
  } else {
    require_safe_path(source_, name, "the id", record_index);
    // What is below the class' folder in the id stays below it: "cat/a/1.jpg" and "cat/b/1.jpg" of
    // class "cat" are two files.
    const bool is_in_class = name.starts_with(folder + "/");
    name = is_in_class ? name.substr(folder.size() + 1) : name.substr(name.rfind('/') + 1);
  }
  if (!has_image_extension(name)) {
    name += image_extension(record.bytes(image_field_));
  } else if (has_become_another(record.bytes(image_field_), name, is_encoded_anew_)) {
    name = std::filesystem::path(name)
               .replace_extension(image_extension(record.bytes(image_field_)))
               .string();
  }
  return unique(record_index, source_.split() + "/" + folder + "/" + name);
}

std::string ExportNames::unique(int64_t record_index, const std::string& path) {
  if (taken_.insert(path).second) return path;
  const std::string extension = std::filesystem::path(path).extension().string();
  const std::string stem = path.substr(0, path.size() - extension.size());
  for (int64_t number = 2;; ++number) {
    std::string other = fmt::format("{}-{}{}", stem, number, extension);
    if (taken_.insert(other).second) {
      renamed_.emplace(record_index, other);
      return other;
    }
  }
}

std::vector<ExportFile> ExportNames::next(int64_t record_index, const RecordView& record) {
  const Schema& schema = source_.schema();
  std::vector<ExportFile> files;
  if (is_classification_) {
    if (record.is_null(image_field_)) return files;
    files.push_back({classified_path(record_index, record),
                     std::move(field_files(schema, record, image_field_).front()), record_index});
    return files;
  }
  const std::string folder = source_.split() + "/" + record_number(record_index) + "/";
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    for (FieldFile& content : field_files(schema, record, i)) {
      files.push_back(
          {folder + schema.fields[i].name + content.suffix, std::move(content), record_index});
    }
  }
  return files;
}

ExportedSplit export_files(const ExportSource& source, const std::filesystem::path& destination) {
  using Files = std::vector<ExportFile>;
  const Dataset& dataset = source.dataset();
  ExportNames names(source);
  ExportedSplit result{.split = source.split(), .num_records = dataset.num_records()};
  ProgressLine progress(result.split, dataset.manifest().file_bytes());
  std::atomic<int64_t> num_bytes = 0;
  export_records<Files>(source, progress,
                        {.make = [](int64_t, const RecordView&) { return Files(); },
                         // In order, so that of two equal names always the same one is changed.
                         .place =
                             [&](int64_t number, const RecordView& record, Files& files) {
                               files = names.next(number, record);
                               result.num_files += std::ssize(files);
                               if (files.empty()) ++result.num_skipped;
                             },
                         .write =
                             [&](int64_t, Files& files) {
                               for (const ExportFile& file : files) {
                                 const std::filesystem::path path = destination / file.path;
                                 make_folder(path.parent_path());
                                 auto data = file.content.owned.empty()
                                                 ? file.content.data
                                                 : std::as_bytes(std::span(file.content.owned));
                                 std::vector<std::byte> jpeg;
                                 if (file.content.is_image) data = image_file(data, jpeg);
                                 write_new_file(path, data);
                                 num_bytes += std::ssize(data);
                               }
                             }});
  result.num_bytes = num_bytes;
  result.renamed = names.renamed();
  result.notes = names.notes();
  result.class_folders = names.class_folders();
  return result;
}

}  // namespace ffkit
