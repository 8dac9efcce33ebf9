#include "webdataset/webdataset_shard.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include <ffkit/base/option_names.h>

#include "archives/parallel_io.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "converter/input/row_values.h"
#include "converter/input/source_error.h"
#include "format/content_kind.h"
#include "format/schema/npy_header.h"
#include "numbers/json_numbers.h"
#include "numbers/json_tables.h"
#include "pictures/image_sample.h"

namespace ffkit {
namespace {

struct SplitName {
  std::string key;
  std::string extension;  // empty: no member of a sample
};

SplitName split_name(const std::string& member) {
  const size_t slash = member.rfind('/');
  const size_t base = slash == std::string::npos ? 0 : slash + 1;
  const size_t dot = member.find('.', base);
  const bool is_own = member.compare(base, 2, "__") == 0 && member.ends_with("__");
  if (dot == std::string::npos || dot == base || dot + 1 == member.size() || is_own) return {};
  SplitName result{member.substr(0, dot), member.substr(dot + 1)};
  result.extension = in_lower_case(result.extension);
  return result;
}

std::string_view last_part(std::string_view extension) {
  return extension.substr(extension.rfind('.') + 1);
}

// White space around it is taken, as by Python's int().
int64_t label_of(std::string_view text_in_file, const std::vector<std::string>& classes) {
  const std::string_view text = trimmed(text_in_file);
  const auto label = number_of_text<int64_t>(text);
  if (!label) {
    const auto found = std::ranges::find(classes, text);
    if (!text.empty() && found != classes.end()) return found - classes.begin();
    throw error_of(ErrorCode::invalid_argument, "the label is '{}', {}", text.substr(0, 40),
                   text.empty() ? "which is empty"
                   : classes.empty()
                       ? "which is not a whole number; give the names of all classes, in the order "
                         "of their numbers, with " +
                             option_name("classes")
                       : "which is neither a whole number nor one of the classes");
  }
  if (!classes.empty() && (*label < 0 || static_cast<uint64_t>(*label) >= classes.size())) {
    throw error_of(ErrorCode::invalid_argument, "the label is {}, but there are {} classes", *label,
                   classes.size());
  }
  return *label;
}

}  // namespace

WebDatasetShard list_webdataset_shard(const fs::path& path, const InputFile& file, FileRange range,
                                      size_t num_beside) {
  WebDatasetShard shard;
  std::set<std::string> keys;
  file.expect_scattered_reads();
  const std::vector<TarMember> members = index_tar(file, range, path.string(), num_beside);
  file.expect_scattered_reads(false);
  for (const TarMember& member : members) {
    auto [key, extension] = split_name(member.name);
    if (extension.empty()) {
      ++shard.num_ignored;
      continue;
    }
    const auto refuse = [&path, sample = std::string_view(key)](const std::string& why) {
      throw source_error(path, ErrorCode::invalid_argument, "sample '{}' {}", sample, why);
    };
    if (shard.samples.empty() || shard.samples.back().key != key) {
      if (!keys.insert(key).second) {
        refuse(
            fmt::format("has members in several places of the tar, for example '{}'; write all "
                        "members of a sample one after another, for example with tar --sort=name",
                        member.name));
      }
      shard.samples.push_back({key, 0});
    }
    const auto found = std::ranges::find(shard.extensions, extension);
    const auto number = static_cast<uint32_t>(found - shard.extensions.begin());
    if (found == shard.extensions.end()) shard.extensions.push_back(extension);
    WebDatasetSample& sample = shard.samples.back();
    for (size_t i = 1; i <= sample.num_members; ++i) {
      if (shard.members[shard.members.size() - i].extension == number) {
        refuse(fmt::format("has two members '.{}'; write the tar without one of them", extension));
      }
    }
    shard.members.push_back({number, member.data});
    ++sample.num_members;
  }
  return shard;
}

WebDatasetKind kind_of_extension(const std::string& extension) {
  const std::string_view last = last_part(extension);
  if (has_read_image_name("x." + std::string(last))) return WebDatasetKind::image;
  if (last == "cls") return WebDatasetKind::label;
  if (last == "json" || last == "txt") return WebDatasetKind::text;
  if (last == "npy") return WebDatasetKind::tensor;
  return WebDatasetKind::bytes;
}

std::string field_of_extension(const std::string& extension, bool keeps_extension) {
  std::string name = extension;
  const size_t last = name.size() - last_part(name).size();
  const WebDatasetKind kind = kind_of_extension(extension);
  if (kind == WebDatasetKind::image && !keeps_extension)
    name.replace(last, std::string::npos, "image");
  if (kind == WebDatasetKind::label) name.replace(last, std::string::npos, "label");
  std::ranges::replace(name, '.', '/');
  return name;
}

std::optional<FrameName> frame_of_extension(const std::string& extension) {
  if (kind_of_extension(extension) != WebDatasetKind::image) return std::nullopt;
  const size_t dot = extension.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::string_view name = std::string_view(extension).substr(0, dot);
  const size_t last = name.find_last_not_of("0123456789");
  const size_t begin = last == std::string_view::npos ? 0 : last + 1;
  constexpr size_t kMaxDigits = 18;
  if (begin == name.size() || name.size() - begin > kMaxDigits) return std::nullopt;
  FrameName frame;
  std::from_chars(name.data() + begin, name.data() + name.size(), frame.number);
  std::string_view list = name.substr(0, begin);
  while (list.ends_with('_') || list.ends_with('-') || list.ends_with('.')) list.remove_suffix(1);
  const bool is_plain = list.empty() || list == "frame" || list == "frames";
  frame.field = is_plain ? "frames" : fmt::format("{}/frames", list);
  std::ranges::replace(frame.field, '.', '/');
  return frame;
}

Field WebDatasetField::field() const {
  switch (kind) {
    case WebDatasetKind::image:
      return {name, FieldType::image};
    case WebDatasetKind::frames:
      return {name, FieldType::list, DType::u8, false, FieldType::image};
    case WebDatasetKind::label:
      return {name, FieldType::scalar, DType::i64, true};
    case WebDatasetKind::text:
      return {name, FieldType::string};
    case WebDatasetKind::tensor:
      return {name, FieldType::tensor, dtype};
    case WebDatasetKind::bytes:
      break;
  }
  return {name, FieldType::bytes};
}

std::string settle_picture(WebDatasetField& field, std::span<const std::byte> head, bool is_image) {
  const ContentKind kind = content_kind(head);
  if (!is_picture(kind)) return {};
  const std::string name = field.name;
  if (!is_decoded_picture(kind)) {
    return fmt::format("the first '{}' is {}; such pictures are not read, so the field has bytes",
                       name, content_name(kind));
  }
  field.kind = WebDatasetKind::image;
  if (!is_image) field.name = "image";
  return fmt::format("the first '{}' is {}; these members become the pictures '{}'", name,
                     content_name(kind), field.name);
}

std::vector<WebDatasetShard> list_webdataset_shards(const FileGroup& files,
                                                    const DecompressedFiles& decompressed) {
  const std::vector<fs::path>& paths = files.paths();
  std::vector<WebDatasetShard> shards(paths.size());
  parallel_io_that_throws(paths.size(), [&](size_t i) {
    const auto place = decompressed.find(i);
    shards[i] =
        place ? list_webdataset_shard(paths[i], place->file, place->range, paths.size())
              : files.with(i, [&](const InputFile& file) {
                  return list_webdataset_shard(paths[i], file, {0, file.size()}, paths.size());
                });
  });
  return shards;
}

void find_rivals(const WebDatasetShard& shard, std::set<std::string>& rivals) {
  size_t begin = 0;
  for (const WebDatasetSample& sample : shard.samples) {
    for (size_t i = begin; i < begin + sample.num_members; ++i) {
      const std::string& a = shard.extensions[shard.members[i].extension];
      if (kind_of_extension(a) != WebDatasetKind::image) continue;
      for (size_t j = begin; j < i; ++j) {
        const std::string& b = shard.extensions[shard.members[j].extension];
        if (kind_of_extension(b) == WebDatasetKind::image &&
            field_of_extension(a, false) == field_of_extension(b, false)) {
          rivals.insert({a, b});
        }
      }
    }
    begin += sample.num_members;
  }
}

std::map<std::string, std::string> names_as_before(const FoundMembers& found,
                                                   const LaterMembers& later,
                                                   const std::vector<fs::path>& tars) {
  std::map<std::string, std::string> names = found.names;
  for (const std::string& extension : later.extensions) {
    if (extension == later.id_member || names.contains(extension)) continue;
    const auto frame = later.takes_frames ? frame_of_extension(extension) : std::nullopt;
    const bool is_known =
        frame && std::ranges::any_of(found.fields, [&](const auto& field) {
          return field.name == frame->field && field.kind == WebDatasetKind::frames;
        });
    if (is_known) {
      names[extension] = frame->field;
      continue;
    }
    throw source_error(tars.front(), ErrorCode::unsupported,
                       "this group of tars has members with the extension '.{}', but no sample of "
                       "the first group has such a member; convert without {}",
                       extension, option_name("by_files"));
  }
  return names;
}

void set_webdataset_field(RecordBuilder& record, size_t position, const WebDatasetField& field,
                          std::span<const std::byte> bytes,
                          const std::vector<std::string>& classes) {
  switch (field.kind) {
    case WebDatasetKind::label:
      record.set_scalar<int64_t>(position, label_of(row_text(bytes), classes));
      return;
    case WebDatasetKind::text:
      if (!simdjson::validate_utf8(row_text(bytes))) {
        throw Error(ErrorCode::corrupt, "the file is not UTF-8 text");
      }
      record.set_string(position, row_text(bytes));
      return;
    case WebDatasetKind::tensor: {
      const NpyHeader header = read_npy_header(bytes);
      if (header.dtype != field.dtype) {
        throw error_of(
            ErrorCode::invalid_argument,
            "the type is {}, but the first sample has the type {}; use one type for all samples",
            to_string(header.dtype), to_string(field.dtype));
      }
      record.set_tensor(position, {header.dtype, header.shape, bytes.subspan(header.data_offset)});
      return;
    }
    case WebDatasetKind::image:
    case WebDatasetKind::frames:
    case WebDatasetKind::bytes:
      record.set_bytes(position, bytes);
      return;
  }
}

void set_label_in_json(RecordBuilder& record, size_t position, const std::string& key,
                       std::span<const std::byte> json, const std::vector<std::string>& classes) {
  const simdjson::padded_string padded(row_text(json));
  simdjson::dom::parser parser;
  simdjson::dom::element value;
  simdjson::dom::object object;
  if (parse_as_python(parser, std::span(padded.data(), padded.size()), value) !=
          simdjson::SUCCESS ||
      value.get_object().get(object) != simdjson::SUCCESS) {
    throw Error(ErrorCode::corrupt, "is not a JSON object with a member for the label");
  }
  simdjson::dom::element label;
  if (!find_member(object, key, label)) {
    throw error_of(ErrorCode::invalid_argument,
                   "has no value (or null or NaN) for the member '{}' that {} names", key,
                   option_name("label_key"));
  }
  std::string_view text;
  const bool is_text = label.get_string().get(text) == simdjson::SUCCESS;
  record.set_scalar<int64_t>(
      position,
      label_of(is_text ? std::string(text) : std::to_string(json_whole_number(label)), classes));
}

}  // namespace ffkit
