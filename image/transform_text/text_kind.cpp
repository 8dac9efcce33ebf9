#include "transform_text/text_kind.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/make_error.h"
#include "base/options/nearest_names.h"
#include "base/printable.h"

namespace ffkit {
namespace {

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
  const std::vector<std::string> nearest = nearest_names(name, names_of_parameters(kind));
  if (nearest.empty()) {
    throw error_of(ErrorCode::invalid_argument, "{} takes no parameters; leave out {}", kind.name,
                   quoted_argument(call, argument));
  }
  throw error_of(ErrorCode::invalid_argument, "{} has no parameter {}; the nearest: {}", kind.name,
                 quoted_text(name), fmt::join(nearest, ", "));
}

}  // namespace

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
                     "{} has {} behind a parameter with a name; give it a name too", kind.name,
                     quoted_argument(call, i));
    } else if (at >= num_parameters) {
      throw error_of(ErrorCode::invalid_argument, "{} takes {} parameters, and {} is one more",
                     kind.name, num_parameters, quoted_argument(call, i));
    }
    if (values[at] != nullptr) {
      throw error_of(ErrorCode::invalid_argument, "{} has {} twice; leave out {}", kind.name,
                     kind.parameters[at].name, quoted_argument(call, i));
    }
    values[at] = &call.items[i];
  }
  for (size_t i = 0; i < num_parameters; ++i) {
    if (values[i] != nullptr || !kind.parameters[i].is_required) continue;
    throw error_of(ErrorCode::invalid_argument, "{} lacks its parameter {}",
                   quoted_text(call.source), kind.parameters[i].name);
  }
  return values;
}

const std::vector<TextKind>& text_kinds() {
  static const std::vector<TextKind> table = [] {
    std::vector<TextKind> kinds;
    add_geometry_kinds(kinds);
    add_augmentation_kinds(kinds);
    return kinds;
  }();
  return table;
}

TextTransform make_text_transform(const TextValue& call) {
  if (call.kind != TextValue::Kind::call) {
    throw error_of(ErrorCode::invalid_argument,
                   "{} is no transform; an example: RandomResizedCrop(224)",
                   quoted_text(call.source));
  }
  const std::vector<TextKind>& kinds = text_kinds();
  const auto found = std::ranges::find(kinds, call.text, &TextKind::name);
  if (found != kinds.end()) return found->make(call);
  std::vector<std::string> names;
  names.reserve(kinds.size());
  for (const TextKind& kind : kinds) names.emplace_back(kind.name);
  throw error_of(ErrorCode::invalid_argument, "there is no transform {}; the nearest: {}",
                 quoted_text(call.text), fmt::join(nearest_names(call.text, names), ", "));
}

}  // namespace ffkit
