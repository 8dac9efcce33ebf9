// TextKind: a transform that a text may call: its name, its parameters in Python's order, and what
// makes plain options of a call.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ffkit/image/image_options.h>

#include "transform_text/text_members.h"

namespace ffkit {

using TextTransform = std::variant<GeometryStep, ScalePad, Compose, Augmentation, RandomErasing>;

struct TextParameter {
  std::string_view name;
  bool is_required = false;
  std::string shown_default;  // empty where it is required
};

struct TextKind {
  std::string_view name;
  std::vector<TextParameter> parameters;
  std::function<TextTransform(const TextValue& call)> make;
};

// For each parameter its value in the call; null where it has none. Throws Error(invalid_argument)
// for an argument that fits no parameter, one that is given twice, and one that is missing.
std::vector<const TextValue*> match_arguments(const TextKind& kind, const TextValue& call);

// A parameter of calls that make `Options`.
template <typename Options>
struct TextMember {
  std::string_view name;
  std::function<void(const TextPlace&, const TextValue&, Options&)> read;
  std::function<std::string(const Options&)> show;
  bool is_required = false;
};

template <typename Member>
struct OwnerOfMember;
template <typename Options, typename T>
struct OwnerOfMember<T Options::*> {
  using Type = Options;
};
template <auto member>
using OwnerOf = typename OwnerOfMember<decltype(member)>::Type;

// The parameter that sets one member ...
template <auto member>
TextMember<OwnerOf<member>> text_member(std::string_view name) {
  using Options = OwnerOf<member>;
  return {.name = name,
          .read = [](const TextPlace& place, const TextValue& value,
                     Options& to) { read_text(place, value, to.*member); },
          .show = [](const Options& from) { return show_text(from.*member); }};
}

// ... or two, (low, high).
template <auto low, auto high>
TextMember<OwnerOf<low>> text_pair(std::string_view name) {
  using Options = OwnerOf<low>;
  return {.name = name,
          .read =
              [](const TextPlace& place, const TextValue& value, Options& to) {
                std::pair<double, double> pair;
                read_text(place, value, pair);
                to.*low = pair.first;
                to.*high = pair.second;
              },
          .show =
              [](const Options& from) {
                return show_text(std::pair<double, double>(from.*low, from.*high));
              }};
}

// The same, but without a default.
template <typename Options>
TextMember<Options> required(TextMember<Options> member) {
  member.is_required = true;
  return member;
}

// What Python's function for Apply(p, Operation()) makes.
template <typename Operation>
struct RandomOperation {
  double p = 0.5;
  Operation operation = {};
};

template <typename Options>
TextTransform to_text_transform(Options options) {
  return options;
}
template <typename Operation>
TextTransform to_text_transform(RandomOperation<Operation> random) {
  return Augmentation(
      Apply{.probability = random.p, .augmentations = {Augmentation(random.operation)}});
}

template <typename Options>
TextKind text_kind(std::string_view name, std::vector<TextMember<Options>> members,
                   const Options& defaults = {}) {
  TextKind kind{.name = name};
  kind.parameters.reserve(members.size());
  for (const TextMember<Options>& member : members) {
    kind.parameters.push_back({.name = member.name,
                               .is_required = member.is_required,
                               .shown_default = member.is_required ? "" : member.show(defaults)});
  }
  const auto facts = std::make_shared<const TextKind>(kind);
  kind.make = [facts, members = std::move(members), defaults](const TextValue& call) {
    const std::vector<const TextValue*> values = match_arguments(*facts, call);
    Options options = defaults;
    for (size_t i = 0; i < members.size(); ++i) {
      if (values[i] == nullptr) continue;
      members[i].read({.transform = facts->name, .parameter = members[i].name}, *values[i],
                      options);
    }
    return to_text_transform(std::move(options));
  };
  return kind;
}

// Adds the kinds of a file to the table.
void add_geometry_kinds(std::vector<TextKind>& table);
void add_augmentation_kinds(std::vector<TextKind>& table);

// All of them. Lives as long as the program.
const std::vector<TextKind>& text_kinds();

// Throws Error(invalid_argument) for what is no call, or calls what there is not, with the nearest
// names, and what `make` throws.
TextTransform make_text_transform(const TextValue& call);

}  // namespace ffkit
