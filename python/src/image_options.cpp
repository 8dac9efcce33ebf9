#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "image/transform_text/transform_table.h"
#include "loader_options.h"
#include "python_code.h"
#include "values.h"

namespace ffkit::python {
namespace {

// Python's limit of recursion, for what stands in one another.
class RecursiveCall {
 public:
  RecursiveCall() {
    if (Py_EnterRecursiveCall(" in augmentations") != 0) throw nb::python_error();
  }
  ~RecursiveCall() { Py_LeaveRecursiveCall(); }
  RecursiveCall(const RecursiveCall&) = delete;
  RecursiveCall& operator=(const RecursiveCall&) = delete;
};

bool is_number(nb::handle value) {
  return PyNumber_Check(value.ptr()) != 0 && !nb::isinstance<nb::sequence>(value);
}

// What is read, and what messages call it.
struct NamedValue {
  NamedValue(nb::handle object, const char* attribute)
      : value(object.attr(attribute)), name(class_of(object) + "." + attribute) {}

  nb::object value;
  std::string name;
};

// All throw TypeError for a value of another type.
template <typename T>
requires std::is_arithmetic_v<T>
void read_value(const NamedValue& from, T& to) {
  to = cast_value<T>(from.value, from.name);
}

void read_value(const NamedValue& from, LowHigh to) {
  std::tie(to.low, to.high) = cast_pair<double>(from.value, from.name);
}

void read_value(const NamedValue& from, OrNone to) {
  if (!from.value.is_none()) read_value(from, to.number);
}

void read_value(const NamedValue& from, NumberOrRandom to) {
  to.is_random = nb::isinstance<nb::str>(from.value);
  if (!to.is_random) read_value(from, to.number);
}

bool has_length(nb::handle value, size_t length) {
  return nb::isinstance<nb::sequence>(value) && nb::len(value) == length;
}

void read_value(const NamedValue& from, ResizeSize& to) {
  if (from.value.is_none()) {
    to = ResizeSize::nothing();
  } else if (is_number(from.value)) {
    to = cast_value<int64_t>(from.value, from.name);
  } else if (has_length(from.value, 1)) {
    to = cast_value<int64_t>(from.value[0], from.name);
  } else {
    const auto [height, width] = cast_pair<int64_t>(from.value, from.name);
    to = {height, width};
  }
}

void read_value(const NamedValue& from, ImageSize& to) {
  if (is_number(from.value)) {
    to = cast_value<int64_t>(from.value, from.name);
  } else {
    std::tie(to.height, to.width) = cast_pair<int64_t>(from.value, from.name);
  }
}

// One number for all, or one each.
template <typename T, size_t n>
void read_value(const NamedValue& from, std::array<T, n>& to) {
  if (is_number(from.value)) {
    to.fill(cast_value<T>(from.value, from.name));
    return;
  }
  if (!has_length(from.value, n))
    throw type_error_of("{} is {}, expected {} numbers", from.name, repr_of(from.value), n);
  for (size_t i = 0; i < n; ++i) to[i] = cast_value<T>(from.value[i], from.name);
}

void read_value(const NamedValue& from, Padding& to) {
  if (has_length(from.value, 2)) {
    const auto [across, down] = cast_pair<int64_t>(from.value, from.name);
    to = {across, down, across, down};
    return;
  }
  std::array<int64_t, 4> sides;
  read_value(from, sides);
  to = {sides[0], sides[1], sides[2], sides[3]};
}

void read_value(const NamedValue& from, Square to) {
  std::array<int, 2> sides;
  read_value(from, sides);
  if (sides[0] != sides[1])
    throw type_error_of("{} is {}, expected a square", from.name, repr_of(from.value));
  to.side = sides[0];
}

// Of a number s, or (low, high).
template <typename Range>
requires requires(Range range) {
  range.min < range.max;
}
void read_value(const NamedValue& from, Range& to) {
  if (is_number(from.value)) {
    to = cast_value<double>(from.value, from.name);
  } else {
    std::tie(to.min, to.max) = cast_pair<double>(from.value, from.name);
  }
}

void read_value(const NamedValue& from, Shear to) {
  to.y = 0;
  if (!has_length(from.value, 4)) return read_value(from, to.x);
  std::array<double, 4> ends;
  read_value(from, ends);
  to.x = {ends[0], ends[1]};
  to.y = {ends[2], ends[3]};
}

// Its own word, or a member of torchvision's enum.
std::string word_of(const NamedValue& from) {
  const nb::object word = nb::getattr(from.value, "value", from.value);
  return cast_value<std::string>(word, from.name);
}

void read_value(const NamedValue& from, TurnCenter& to) {
  to.reset();
  if (from.value.is_none()) return;
  const auto [x, y] = cast_pair<double>(from.value, from.name);
  to = {x, y};
}

template <NamedEnum Enum>
void read_value(const NamedValue& from, Enum& to) {
  to = from_name<Enum>(word_of(from));
}

template <typename T>
requires std::is_arithmetic_v<T>
void read_value(const NamedValue& from, std::vector<T>& to) {
  to.clear();
  for (const nb::handle one : from.value) to.push_back(cast_value<T>(one, from.name));
}

Augmentation augmentation_from_python(nb::handle o);
GeometryStep step_from_python(nb::handle o);

void read_value(const NamedValue& from, std::vector<Augmentation>& to) {
  const RecursiveCall call;
  for (const nb::handle one : from.value) to.push_back(augmentation_from_python(one));
}

void read_value(const NamedValue& from, std::vector<GeometryStep>& to) {
  for (const nb::handle one : from.value) to.push_back(step_from_python(one));
}

// By a row of the table of transforms.
template <typename Options, typename See>
void read_attributes(nb::handle o, Options& options, const See& parameters) {
  std::string names;
  parameters(options, Parameters([&](const char* name, auto&, auto) {
               names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
             }));
  parameters(options, Parameters([&](const char* name, auto& member, auto /*is_required*/) {
               const NamedValue from(o, name);
               if (from.value.is_none() && kNoneIsDefault<std::remove_cvref_t<decltype(member)>>) {
                 return;
               }
               // What stands in the object says itself what it is.
               if constexpr (std::is_class_v<std::remove_cvref_t<decltype(member)>> &&
                             requires { member.front().index(); }) {
                 return read_value(from, member);
               }
               try {
                 read_value(from, member);
               } catch (const nb::builtin_exception& wrong) {
                 throw type_error_of("{}, in {}({})", wrong.what(), class_of(o), names);
               }
             }));
}

// The one of `Family` that has the object's class; nothing where none has.
template <typename Family>
std::optional<Family> from_python(nb::handle o) {
  const std::string name = class_of(o);
  std::optional<Family> made;
  const auto read = [&](const char* kind, auto options, const auto& parameters) {
    if constexpr (std::is_constructible_v<Family, decltype(options)>) {
      if (kind != name) return;
      read_attributes(o, options, parameters);
      made.emplace(std::move(options));
    }
  };
  for_each_step(read);
  for_each_augmentation(read);
  return made;
}

Augmentation augmentation_from_python(nb::handle o) {
  if (class_of(o) == "PythonAugmentation") {
    return std::shared_ptr<const PixelTransform>(make_python_augmentation(o));
  }
  if (auto made = from_python<Augmentation>(o)) return *std::move(made);
  throw type_error_of(
      "{} is not an augmentation; expected one of ffkit's, such as ColorJitter, or a "
      "PythonAugmentation",
      repr_of(o));
}

GeometryStep step_from_python(nb::handle o) {
  if (auto made = from_python<GeometryStep>(o)) return *std::move(made);
  throw type_error_of(
      "{} is not a step of a Compose; expected a crop, a resize, a flip or another of ffkit's, "
      "such as RandomRotation",
      repr_of(o));
}

ImageTransform transform_from_python(nb::handle o) {
  if (auto made = from_python<ImageTransform>(o)) return *std::move(made);
  if (from_python<GeometryStep>(o)) {
    throw type_error_of("{} is a step; put it into a Compose, with a resize or crop to a size",
                        repr_of(o));
  }
  throw type_error_of(
      "{} is not a transform; expected RandomResizedCrop, ResizeCenterCrop, Resize, RandomCrop, "
      "ResizeCrop, ScalePad or a Compose of steps",
      repr_of(o));
}

RandomErasing erasing_from_python(nb::handle o) {
  RandomErasing erasing;
  for_erasing([&](const char* /*name*/, const auto& /*defaults*/, const auto& parameters) {
    read_attributes(o, erasing, parameters);
  });
  return erasing;
}

}  // namespace

ImageOptions image_options_from_python(nb::handle options) {
  if (class_of(options) != "ImageOptions") {
    throw type_error_of(
        "the image options are {}; expected ffkit.ImageOptions, whose first argument is the "
        "transform",
        class_of(options));
  }
  ImageOptions image;
  image.transform = transform_from_python(options.attr("transform"));
  read_value(NamedValue(options, "augment"), image.augmentations);
  const nb::object erasing = options.attr("erasing");
  if (!erasing.is_none()) image.erasing = erasing_from_python(erasing);
  image.output.dtype = get_name(options, "dtype", from_name<DType>);
  image.output.layout = get_name(options, "layout", from_name<Layout>);
  image.output.channels = get<int>(options, "channels");
  image.output.normalize = get<bool>(options, "normalize");
  read_value(NamedValue(options, "mean"), image.output.mean);
  read_value(NamedValue(options, "std"), image.output.std);
  return image;
}

}  // namespace ffkit::python
