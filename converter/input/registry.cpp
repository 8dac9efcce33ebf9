#include <fmt/format.h>

#include <algorithm>

#include <ffkit/converter/registry.h>
#include <ffkit/format/error.h>
#include <ffkit/format/option_names.h>

#include "input/argument_values.h"

namespace ffkit {

int64_t SourceArguments::number(const SourceParameter& parameter) const {
  const auto found = numbers.find(parameter.name);
  return found == numbers.end() ? parameter.default_value : found->second;
}

bool SourceArguments::flag(const std::string& name) const {
  const auto found = flags.find(name);
  return found != flags.end() && found->second;
}

std::string SourceArguments::text(const std::string& name) const {
  const auto found = texts.find(name);
  return found == texts.end() ? "" : found->second;
}

void check_arguments(const SourceKind& kind, const SourceArguments& arguments) {
  for (const auto& [name, text] : arguments.texts) {
    if (!text.empty()) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: its text is empty; leave the option out for its default",
                            option_name(key_of(name))));
  }
  if (arguments.images.exif == ExifUse::apply && !kind.takes_exif) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("pictures of '{}' are stored as they are in their files; leave {} out",
                            kind.name, option_name("exif")));
  }
  if (kind.check != nullptr) kind.check(arguments);
}

const SourceKind& source_kind(const std::string& name) {
  const std::span<const SourceKind> kinds = source_kinds();
  const auto found = std::ranges::find(kinds, name, &SourceKind::name);
  if (found != kinds.end()) return *found;
  std::string names;
  for (const SourceKind& kind : kinds) names += std::string(names.empty() ? "" : ", ") + kind.name;
  throw Error(ErrorCode::not_found, "there is no source '" + name + "'; there are " + names);
}

}  // namespace ffkit
