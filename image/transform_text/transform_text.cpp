#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ffkit/image/image_options.h>

#include "base/make_error.h"
#include "base/other_words.h"
#include "base/printable.h"
#include "transform_text/text_members.h"

namespace ffkit {
namespace {

using TextTransform = std::variant<GeometryStep, ScalePad, Compose, Augmentation, RandomErasing>;

struct TextParameter {
  std::string_view name;
  bool is_required = false;
  std::string shown_default = {};  // empty where it is required
};

// A transform that a text may call: its parameters in Python's order, and what makes plain options
// of a call.
struct TextKind {
  std::string_view name;
  std::vector<TextParameter> parameters = {};
  std::function<TextTransform(const TextKind& self, const TextValue& call)> make = {};
};

// The part of the call that gives argument `i`.
std::string quoted_argument(const TextValue& call, size_t i) {
  return quoted_text(
      call.names[i].empty()
          ? call.items[i].source
          : std::string_view(call.names[i].data(), static_cast<size_t>(call.items[i].source.end() -
                                                                       call.names[i].begin())));
}

std::vector<std::string> names_of_parameters(const TextKind& kind) {
  std::vector<std::string> names;
  names.reserve(kind.parameters.size());
  for (const TextParameter& parameter : kind.parameters) names.emplace_back(parameter.name);
  return names;
}

size_t find_parameter(const TextKind& kind, const TextValue& call, size_t argument) {
  const std::string_view name = call.names[argument];
  const auto found = std::ranges::find(kind.parameters, name, &TextParameter::name);
  if (found != kind.parameters.end()) {
    return static_cast<size_t>(found - kind.parameters.begin());
  }
  const std::vector<std::string> names = names_of_parameters(kind);
  if (names.empty()) {
    throw error_of(ErrorCode::invalid_argument, "{} takes no parameters; leave out {}", kind.name,
                   quoted_argument(call, argument));
  }
  throw error_of(ErrorCode::invalid_argument, "{} has no parameter {}; its form is {}({})",
                 kind.name, quoted_text(name), kind.name, fmt::join(names, ", "));
}

// For each parameter its value in the call; null where it has none. Throws Error(invalid_argument)
// for an argument that fits no parameter, one that is given twice, and one that is missing.
std::vector<const TextValue*> match_arguments(const TextKind& kind, const TextValue& call) {
  const size_t num_parameters = kind.parameters.size();
  std::vector<const TextValue*> values(num_parameters);
  bool has_names = false;
  for (size_t i = 0; i < call.items.size(); ++i) {
    size_t at = i;
    if (!call.names[i].empty()) {
      has_names = true;
      at = find_parameter(kind, call, i);
    } else if (has_names) {
      throw error_of(ErrorCode::invalid_argument,
                     "{} has the parameter {} without a name after a parameter with a name; give "
                     "this parameter a name also",
                     kind.name, quoted_argument(call, i));
    } else if (at >= num_parameters) {
      throw error_of(ErrorCode::invalid_argument, "{} takes at most {} parameters; leave out {}",
                     kind.name, num_parameters, quoted_argument(call, i));
    }
    if (values[at] != nullptr) {
      throw error_of(ErrorCode::invalid_argument, "{} has the parameter {} twice; leave out {}",
                     kind.name, kind.parameters[at].name, quoted_argument(call, i));
    }
    values[at] = &call.items[i];
  }
  for (size_t i = 0; i < num_parameters; ++i) {
    if (values[i] != nullptr || !kind.parameters[i].is_required) continue;
    throw error_of(ErrorCode::invalid_argument, "{} needs the parameter {}",
                   quoted_text(call.source), kind.parameters[i].name);
  }
  return values;
}

TextTransform make_text_transform(const TextValue& call);

// One augmentation, or several in brackets.
void read_text(const TextPlace& place, const TextValue& value, std::vector<Augmentation>& to) {
  const auto add = [&](const TextValue& one) {
    TextTransform made = make_text_transform(one);
    auto* augmentation = std::get_if<Augmentation>(&made);
    if (augmentation == nullptr) {
      throw error_of(ErrorCode::invalid_argument,
                     "{} takes augmentations, such as ColorJitter, but {} is not an augmentation",
                     place.transform, quoted_text(one.source));
    }
    to.push_back(std::move(*augmentation));
  };
  if (value.kind == TextValue::Kind::call) return add(value);
  if (value.kind != TextValue::Kind::list) {
    refuse_text(place, value, "an augmentation, or several in brackets");
  }
  to.reserve(value.items.size());
  for (const TextValue& item : value.items) add(item);
}

void read_text(const TextPlace& place, const TextValue& value, std::vector<GeometryStep>& to) {
  if (value.kind != TextValue::Kind::list) refuse_text(place, value, "[STEP, STEP, ...]");
  to.reserve(value.items.size());
  for (const TextValue& item : value.items) {
    TextTransform made = make_text_transform(item);
    auto* step = std::get_if<GeometryStep>(&made);
    if (step == nullptr) {
      throw error_of(ErrorCode::invalid_argument,
                     "{} is not a step of a Compose; expected a crop, a resize, a flip or another "
                     "step of geometry, such as RandomRotation",
                     quoted_text(item.source));
    }
    to.push_back(std::move(*step));
  }
}

// Of a row of the table.
template <typename Options, typename See>
TextKind text_kind(const char* name, const Options& defaults, const See& parameters) {
  TextKind kind{.name = name};
  Options shown = defaults;
  parameters(shown, Parameters([&](const char* parameter, auto& member, auto is_required) {
               if constexpr (decltype(is_required)::value) {
                 kind.parameters.push_back({.name = parameter, .is_required = true});
               } else {
                 kind.parameters.push_back({.name = parameter, .shown_default = show_text(member)});
               }
             }));
  kind.make = [defaults, parameters](const TextKind& self, const TextValue& call) -> TextTransform {
    const std::vector<const TextValue*> values = match_arguments(self, call);
    Options options = defaults;
    const std::string in_call =
        fmt::format(", in {}({})", self.name, fmt::join(names_of_parameters(self), ", "));
    size_t i = 0;
    parameters(options, Parameters([&](const char* parameter, auto& member, auto) {
                 const size_t at = i++;
                 const TextValue* const value = values[at];
                 if (value == nullptr) return;
                 if (value->kind == TextValue::Kind::none &&
                     kNoneIsDefault<std::remove_cvref_t<decltype(member)>>) {
                   return;
                 }
                 const bool is_named = at >= call.items.size() || !call.names[at].empty();
                 read_text({.transform = self.name,
                            .parameter = parameter,
                            .in_call = is_named ? std::string_view() : in_call},
                           *value, member);
               }));
    return options;
  };
  return kind;
}

// All of them. Lives as long as the program.
const std::vector<TextKind>& text_kinds() {
  static const std::vector<TextKind> table = [] {
    std::vector<TextKind> kinds;
    const auto add = [&kinds](const char* name, const auto& defaults, const auto& parameters) {
      kinds.push_back(text_kind(name, defaults, parameters));
    };
    for_each_step(add);
    for_each_augmentation(add);
    for_each_function(add);
    for_erasing(add);
    return kinds;
  }();
  return table;
}

// Throws Error(invalid_argument) for what is no call, or calls what there is not, with the nearest
// names, and what `make` throws.
TextTransform make_text_transform(const TextValue& call) {
  if (call.kind != TextValue::Kind::call) {
    throw error_of(ErrorCode::invalid_argument,
                   "{} is not a transform; give one such as RandomResizedCrop(224)",
                   quoted_text(call.source));
  }
  const std::vector<TextKind>& kinds = text_kinds();
  const auto found = std::ranges::find(kinds, call.text, &TextKind::name);
  if (found != kinds.end()) return found->make(*found, call);
  if (const std::string now = current_name("Python", call.text); now != call.text) {
    throw error_of(ErrorCode::invalid_argument, "there is no transform {}; it is {} now",
                   quoted_text(call.text), now);
  }
  std::vector<std::string> names;
  names.reserve(kinds.size());
  for (const TextKind& kind : kinds) names.emplace_back(kind.name);
  throw error_of(ErrorCode::invalid_argument, "there is no transform {}; the nearest names are {}",
                 quoted_text(call.text), fmt::join(nearest_names(call.text, names), ", "));
}

// Gathers the transforms of a text.
class OptionsOfText {
 public:
  void add(const TextValue& call) {
    TextTransform made = make_text_transform(call);
    std::visit([&](auto& one) { take(std::move(one), call); }, made);
  }

  ImageOptions finish(std::string_view text) && {
    if (scale_pad_) {
      options_.transform = *scale_pad_;
    } else if (steps_.empty()) {
      throw error_of(ErrorCode::invalid_argument,
                     "the text {} has no transform that gives a size; add one such as "
                     "RandomResizedCrop(224)",
                     quoted_text(text));
    } else {
      options_.transform = transform_of_steps();
    }
    return std::move(options_);
  }

 private:
  void take(GeometryStep step, const TextValue& call) {
    refuse_beside_scale_pad(call);
    steps_.push_back(std::move(step));
  }
  void take(Compose compose, const TextValue& call) {
    if (compose.steps.empty()) {
      throw error_of(ErrorCode::invalid_argument, "{} has no steps", quoted_text(call.source));
    }
    for (GeometryStep& step : compose.steps) take(std::move(step), call);
    is_composed_ = true;
  }
  void take(const ScalePad& pad, const TextValue& call) {
    refuse_beside_scale_pad(call);
    if (!steps_.empty()) refuse_scale_pad(call);
    scale_pad_ = pad;
  }
  void take(Augmentation augmentation, const TextValue& /*call*/) {
    options_.augmentations.push_back(std::move(augmentation));
  }
  void take(const RandomErasing& erasing, const TextValue& call) {
    if (options_.erasing) {
      throw error_of(ErrorCode::invalid_argument,
                     "{} is the second RandomErasing in the list; give only one RandomErasing",
                     quoted_text(call.source));
    }
    options_.erasing = erasing;
  }

  void refuse_beside_scale_pad(const TextValue& call) const {
    if (scale_pad_) refuse_scale_pad(call);
  }
  [[noreturn]] static void refuse_scale_pad(const TextValue& call) {
    throw error_of(
        ErrorCode::invalid_argument,
        "{} cannot be combined with another step of geometry; a ScalePad must be the only step",
        quoted_text(call.source));
  }

  // One that is a transform stands alone; others need a Compose around them.
  ImageTransform transform_of_steps() {
    std::optional<ImageTransform> alone;
    if (steps_.size() == 1 && !is_composed_) {
      std::visit(
          [&](const auto& step) {
            if constexpr (requires { alone.emplace(step); }) alone.emplace(step);
          },
          steps_.front());
    }
    return alone ? *std::move(alone) : ImageTransform(Compose{std::move(steps_)});
  }

  ImageOptions options_;
  std::vector<GeometryStep> steps_;
  bool is_composed_ = false;  // the text says so
  std::optional<ScalePad> scale_pad_;
};

}  // namespace

ImageOptions parse_transforms(std::string_view text) {
  OptionsOfText options;
  for (const TextValue& call : parse_text_values(text)) options.add(call);
  return std::move(options).finish(text);
}

std::vector<std::string> transform_signatures() {
  std::vector<std::string> signatures;
  signatures.reserve(text_kinds().size());
  std::vector<std::string> parameters;
  for (const TextKind& kind : text_kinds()) {
    parameters.clear();
    for (const TextParameter& parameter : kind.parameters) {
      parameters.push_back(parameter.is_required
                               ? std::string(parameter.name)
                               : fmt::format("{}={}", parameter.name, parameter.shown_default));
    }
    signatures.push_back(fmt::format("{}({})", kind.name, fmt::join(parameters, ", ")));
  }
  return signatures;
}

}  // namespace ffkit
