#include "forms/webdataset_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include <ffkit/format/dtype_visitor.h>

#include "base/printable.h"
#include "text/output.h"

namespace ffkit {
namespace {

// What `ffconvert webdataset` takes for pictures and for other types, by the last part.
constexpr std::string_view kTypedExtensions =
    "jpg jpeg png webp ppm pgm bmp tif tiff cls json txt npy";

std::string_view last_part_of(std::string_view name) {
  return name.substr(name.find_last_of("/.") + 1);
}

std::string dotted(std::string name) {
  std::ranges::replace(name, '/', '.');
  return name;
}

std::string slashed(std::string extension) {
  std::ranges::replace(extension, '.', '/');
  return extension;
}

// "left" of "left/image", "" of "image", and the whole name of others.
std::string without_part(const std::string& name, std::string_view part) {
  if (last_part_of(name) != part) return name;
  return name.size() == part.size() ? "" : name.substr(0, name.size() - part.size() - 1);
}

std::string joined(const std::string& stem, std::string_view separator, std::string_view last) {
  return stem.empty() ? std::string(last) : fmt::format("{}{}{}", stem, separator, last);
}

// The field that `ffconvert webdataset --numbered-frames` makes of "<stem>_000000.jpg".
std::string frames_field(std::string stem) {
  while (stem.ends_with('_') || stem.ends_with('-') || stem.ends_with('.')) stem.pop_back();
  if (stem == "frame" || stem == "frames") stem.clear();
  return joined(slashed(stem), "/", "frames");
}

WebDatasetMember picture_member(const std::string& stem, std::string_view separator,
                                std::span<const std::byte> image) {
  const std::string ending = image_extension(image).substr(1);
  WebDatasetMember member{.extension = joined(stem, separator, ending)};
  member.is_unknown_picture = ending == "bin";
  member.data = image_file(image, member.owned);
  return member;
}

// A member of bytes that are made here.
WebDatasetMember made_member(const std::string& extension, std::string_view content) {
  const auto bytes = std::as_bytes(std::span(content));
  return {.extension = extension, .owned = {bytes.begin(), bytes.end()}};
}

}  // namespace

WebDatasetMembers::Form WebDatasetMembers::form_of(const Field& field) {
  switch (field.type) {
    case FieldType::image:
      return Form::image;
    case FieldType::scalar:
      // A label comes back as i64, which does not hold all of u64.
      return last_part_of(field.name) == "label" && is_integer(field.dtype) &&
                     field.dtype != DType::u64
                 ? Form::label
                 : Form::array;
    case FieldType::string:
      return Form::text;
    case FieldType::tensor:
      return Form::array;
    case FieldType::list:
      return field.item == FieldType::image    ? Form::frames
             : field.item == FieldType::string ? Form::texts
                                               : Form::items;
    default:
      return Form::bytes;
  }
}

WebDatasetMembers::WebDatasetMembers(const Schema& schema) : schema_(schema) {
  const int id = schema.index_of("id");
  if (id >= 0 && schema.fields[static_cast<size_t>(id)].type == FieldType::string) {
    id_field_ = static_cast<size_t>(id);
  }
  std::vector<std::string> taken = {"id", slashed(std::string(kIdMember))};
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    if (i != id_field_) add(schema.fields[i], i, taken);
  }
  for (const Plan& plan : plans_) {
    const bool is_numbered =
        !plan.stem.empty() && std::isdigit(static_cast<unsigned char>(plan.stem.back())) != 0;
    if (plan.form != Form::image || !is_numbered || !has_frames()) continue;
    comes_back_.push_back(
        fmt::format("'{}' becomes a frame of a list", schema.fields[plan.field].name));
  }
}

bool WebDatasetMembers::has_frames() const {
  return std::ranges::any_of(plans_, [](const Plan& plan) { return plan.form == Form::frames; });
}

void WebDatasetMembers::add(const Field& field, size_t position, std::vector<std::string>& taken) {
  Plan plan{.field = position, .form = form_of(field)};
  // What the field is when it comes back, under the `name` that it is given here: two fields that
  // would be one are told apart.
  const auto choose = [&plan](const std::string& name) -> std::string {
    const auto with_ending = [&](std::string_view ending) {
      const bool has_it = last_part_of(name) == ending;
      plan.stem = dotted(has_it ? name : fmt::format("{}.{}", name, ending));
      return slashed(plan.stem);
    };
    const bool is_json = last_part_of(name) == "json";
    switch (plan.form) {
      case Form::image:
        plan.stem = dotted(without_part(name, "image"));
        return joined(slashed(plan.stem), "/", "image");
      case Form::label:
        plan.stem = joined(dotted(without_part(name, "label")), ".", "cls");
        return joined(slashed(dotted(without_part(name, "label"))), "/", "label");
      case Form::text:
        return with_ending(is_json ? "json" : "txt");
      case Form::array:
        return with_ending("npy");
      case Form::frames:
        plan.stem = dotted(without_part(name, "frames"));
        return frames_field(plan.stem);
      case Form::texts:
        return with_ending("json");
      case Form::items:
        plan.stem = dotted(name);
        return slashed(plan.stem);
      case Form::bytes:
        break;
    }
    const std::string_view last = last_part_of(name);
    const bool is_typed = last.empty() || has_word(kTypedExtensions, in_lower_case(last));
    plan.stem = dotted(name) + (is_typed ? ".bin" : "");
    return slashed(plan.stem);
  };
  std::string back = in_lower_case(choose(field.name));
  for (int number = 2; std::ranges::find(taken, back) != taken.end(); ++number) {
    back = in_lower_case(choose(fmt::format("{}-{}", field.name, number)));
  }
  taken.push_back(back);
  plans_.push_back(plan);
  const auto differs = [&](const std::string& what) {
    comes_back_.push_back(fmt::format("'{}' becomes {}", field.name, what));
  };
  const std::string name = back == field.name ? "" : fmt::format(" '{}'", back);
  const bool is_bf16 = has_dtype(field) && field.dtype == DType::bf16;
  if (plan.form == Form::items) {
    differs(fmt::format("the fields '{}/000000/{}', ..., one for each item{}", back,
                        field.item == FieldType::tensor ? "npy" : "bin",
                        is_bf16 ? ", of f32" : ""));
  } else if (plan.form == Form::texts) {
    differs(fmt::format("the string{}, a JSON array", name));
  } else if (plan.form == Form::array && field.type == FieldType::scalar) {
    differs(fmt::format("the tensor{} without a dimension{}", name, is_bf16 ? ", of f32" : ""));
  } else if (is_bf16) {
    differs(fmt::format("the tensor{} of f32", name));
  } else if (plan.form == Form::label && field.dtype != DType::i64) {
    differs(fmt::format("the scalar{} of i64", name));
  } else if (!name.empty()) {
    differs(name.substr(1));
  }
}

void WebDatasetMembers::add_list(const Plan& plan, const RecordView& record,
                                 std::vector<WebDatasetMember>& members) const {
  const Field& field = schema_.fields[plan.field];
  const ListView list = record.list(plan.field);
  if (plan.form == Form::texts) {
    members.push_back(made_member(plan.stem, json_array_of(field, list)));
    return;
  }
  for (size_t i = 0; i < list.size(); ++i) {
    if (plan.form == Form::frames) {
      members.push_back(
          picture_member(joined(plan.stem, "_", fmt::format("{:06}", i)), ".", list.bytes(i)));
    } else if (field.item == FieldType::tensor) {
      members.push_back(
          made_member(fmt::format("{}.{:06}.npy", plan.stem, i), npy_file(list.tensor(i))));
    } else {
      members.push_back(
          {.extension = fmt::format("{}.{:06}.bin", plan.stem, i), .data = list.bytes(i)});
    }
  }
}

std::vector<WebDatasetMember> WebDatasetMembers::of(const RecordView& record) const {
  std::vector<WebDatasetMember> members;
  members.reserve(plans_.size() + 1);
  for (const Plan& plan : plans_) {
    const Field& field = schema_.fields[plan.field];
    const FieldView view = record.field(plan.field);
    if (view.is_null()) continue;
    switch (plan.form) {
      case Form::image:
        members.push_back(picture_member(plan.stem, ".", view.bytes()));
        break;
      case Form::label:
        members.push_back(made_member(plan.stem, field_text(field, view)));
        break;
      case Form::array:
        view.verify();  // a scalar has as many bytes as its dtype
        members.push_back(made_member(
            plan.stem,
            npy_file(field.type == FieldType::tensor
                         ? view.tensor()
                         : TensorView{.dtype = field.dtype, .shape = {}, .data = view.raw()})));
        break;
      case Form::text:
      case Form::bytes:
        members.push_back({.extension = plan.stem, .data = view.raw()});
        break;
      case Form::frames:
      case Form::texts:
      case Form::items:
        add_list(plan, record, members);
    }
  }
  return members;
}

}  // namespace ffkit
