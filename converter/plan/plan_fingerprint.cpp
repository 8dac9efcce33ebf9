#include "plan/plan_fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <span>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/other_words.h"
#include "format/schema/schema_json.h"

namespace ffkit {
namespace {

using Json = nlohmann::json;

constexpr const char* kBadSamples = "bad_samples";
// Of a split's samples and shards, in the order in which a difference is looked for: what is behind
// the first follows from it as a rule.
constexpr std::array<std::array<const char*, 2>, 7> kAspects = {
    {{"schema", "the fields of the split '{}'"},
     {"names", "the samples of the split '{}' (their names, number or order)"},
     {"sizes", "the sizes of the files of the split '{}'"},
     {"contents", "the labels or annotations of the split '{}'"},
     {"times", "the modification times of the files of the split '{}'"},
     {"dictionary", "the zstd dictionary of the split '{}' (its first samples differ)"},
     {"shards", "the samples in each shard of split '{}' (encoded sizes differ)"}}};
constexpr size_t kMaxNamed = 3;                    // differences
constexpr size_t kMaxDescriptionBytes = 32 << 10;  // destinations read markers of 64 KiB
constexpr size_t kMaxWordBytes = 100;  // of an option or a fact; of a longer one, its hash is told
constexpr size_t kMaxNamedInputs = 100;  // of a split, in a description

constexpr size_t kAllInputs = std::numeric_limits<size_t>::max();
// Of a split: a hash of its files beside the samples' own, without their times.
constexpr const char* kUntimedInputs = "untimed_inputs";

enum class Times : bool { left_out, counted };

std::string hash_of(std::string_view text) {
  PlanHash hash;
  hash.add(text);
  return hash.digits();
}

// Names of files need not be UTF-8.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string input_of(const SourceInput& input, Times times) {
  if (input.crc32c) return fmt::format("{} {:08x}", input.num_bytes, *input.crc32c);
  if (times == Times::left_out) return std::to_string(input.num_bytes);
  return fmt::format("{} {}", input.num_bytes, input.modified_ns);
}

Json inputs_of(const SampleListing& listing, Times times, size_t max_named) {
  std::map<std::string, std::string> inputs;
  for (const SourceInput& input : listing.inputs) {
    inputs[input.name] += input_of(input, times) + " ";
  }
  if (inputs.size() <= max_named) return inputs;
  PlanHash hash;
  for (const auto& [name, value] : inputs) {
    hash.add(name);
    hash.add(value);
  }
  Json joined = Json::object();
  joined[fmt::format("one of {}", inputs.size())] = hash.digits();
  return joined;
}

Json split_of(const SplitPlan& plan, Times times, size_t max_named) {
  PlanHash shards;
  for (const int64_t first : plan.first) shards.add(static_cast<uint64_t>(first));
  PlanHash dictionary;
  dictionary.add(plan.compression.dictionary);
  Json split = {{"schema", hash_of(json_text(schema_to_json(plan.manifest.schema)))},
                {"names", plan.listing.names},
                {"sizes", plan.listing.sizes},
                {"contents", plan.listing.contents},
                {"dictionary", dictionary.digits()},
                {"shards", shards.digits()},
                {"inputs", inputs_of(plan.listing, times, max_named)}};
  if (times == Times::counted) {
    split["times"] = plan.listing.times;
    split[kUntimedInputs] = hash_of(text_of(inputs_of(plan.listing, Times::left_out, kAllInputs)));
  }
  return split;
}

Json describe(const std::vector<SplitPlan>& plans, Times times,
              size_t max_named = kMaxNamedInputs) {
  // Of all splits: they are the same.
  const Manifest& manifest = plans.front().manifest;
  PlanHash classes;
  for (const std::string& name : manifest.classes) classes.add(name);
  for (const std::string& name : manifest.class_names) classes.add(name);
  for (const ClassId& id : manifest.class_ids) classes.add(to_string(id));
  Json facts = Json::object();
  Json splits = Json::object();
  for (const SplitPlan& plan : plans) {
    for (const auto& [key, value] : plan.manifest.source) {
      if (value.starts_with('/') || is_beside_the_data(key)) continue;
      facts[plan.manifest.split + "'s " + key] =
          value.size() <= kMaxWordBytes ? value : hash_of(value);
    }
    splits[plan.manifest.split] = split_of(plan, times, max_named);
  }
  return {{"options", with_first_names(manifest.options)},
          {"facts", std::move(facts)},
          {"ffconvert", manifest.created_by},
          {"classes", classes.digits()},
          {"splits", std::move(splits)}};
}

// The aspects of many splits as if of one.
Json join_splits(const Json& splits) {
  Json joined = Json::object();
  PlanHash inputs;
  for (const Json& split : splits) inputs.add(text_of(split.at("inputs")));
  joined["inputs"]["one of many"] = inputs.digits();
  for (const auto& [aspect, unused] : kAspects) {
    PlanHash hash;
    for (const Json& split : splits) hash.add(split.at(aspect).get<std::string>());
    joined[aspect] = hash.digits();
  }
  PlanHash untimed;
  for (const Json& split : splits) untimed.add(split.at(kUntimedInputs).get<std::string>());
  joined[kUntimedInputs] = untimed.digits();
  return joined;
}

class Comparison {
 public:
  Comparison() = default;
  Comparison(const Json& found, const Json& planned) {
    compare_words("option ", with_current_names(found.at("options")),
                  with_current_names(planned.at("options")));
    compare_words("", found.at("facts"), planned.at("facts"));
    if (found.at("ffconvert") != planned.at("ffconvert")) {
      add("the program", found.at("ffconvert"), planned.at("ffconvert"));
    }
    if (found.at("classes") != planned.at("classes")) differences_.emplace_back("the classes");
    compare_splits(found.at("splits"), planned.at("splits"));
  }

  void compare_split(const std::string& name, const Json& found, const Json& planned) {
    bool has_other_input = false;
    Json inputs = found.at("inputs");
    inputs.update(planned.at("inputs"));
    for (const auto& [file, unused] : inputs.items()) {
      if (value_at(found.at("inputs"), file) == value_at(planned.at("inputs"), file)) continue;
      differences_.push_back(fmt::format("the file '{}' of split '{}'", file, name));
      has_other_input = true;
    }
    if (has_other_input) return;
    for (const auto& [aspect, words] : kAspects) {
      if (found.at(aspect) == planned.at(aspect)) continue;
      differences_.push_back(fmt::format(fmt::runtime(words), name));
      return;
    }
  }

  std::string text() const {
    const auto named = std::span(differences_).first(std::min(differences_.size(), kMaxNamed));
    std::string text = fmt::format("{}", fmt::join(named, ", "));
    if (differences_.size() > kMaxNamed) {
      text += fmt::format(" and {} more", differences_.size() - kMaxNamed);
    }
    return text;
  }

 private:
  void add(const std::string& what, const Json& then, const Json& now) {
    differences_.push_back(fmt::format(
        "{} (was {}, now {})", what, then.is_null() ? "none" : "'" + then.get<std::string>() + "'",
        now.is_null() ? "none" : "'" + now.get<std::string>() + "'"));
  }

  static Json value_at(const Json& object, const std::string& key) {
    return object.value(key, Json());
  }

  void compare_words(const std::string& prefix, const Json& found, const Json& planned) {
    Json all = found;
    all.update(planned);
    for (const auto& [key, unused] : all.items()) {
      const Json then = value_at(found, key);
      const Json now = value_at(planned, key);
      const bool had_no_bad_samples =
          prefix.starts_with("option") && key == kBadSamples && then == "fail";
      if (then != now && !had_no_bad_samples) add(prefix + key, then, now);
    }
  }

  void compare_splits(const Json& found, const Json& planned) {
    Json all = found;
    all.update(planned);
    for (const auto& [name, unused] : all.items()) {
      if (!found.contains(name) || !planned.contains(name)) {
        differences_.push_back(fmt::format("split '{}', which {}", name,
                                           found.contains(name) ? "is missing now" : "is new"));
        continue;
      }
      compare_split(name, found.at(name), planned.at(name));
    }
  }

  std::vector<std::string> differences_;
};

template <typename Compare>
std::string compare_texts(std::string_view found, std::string_view planned,
                          const Compare& compare) {
  if (found == planned) return {};
  try {
    return compare(Json::parse(found), Json::parse(planned));
  } catch (const Json::exception&) {
    return "the version of ffkit (this version cannot read the notes of the other version)";
  }
}

}  // namespace

std::string describe_plan(const std::vector<SplitPlan>& plans, const ConvertOptions& options) {
  const auto text = [&](Json plan) {
    plan["options"][kBadSamples] = describe_bad_samples(options);
    plan["options"]["part"] = fmt::format("{}/{}", options.part.index, options.part.count);
    return text_of(plan);
  };
  std::string named = text(describe(plans, Times::counted));
  if (named.size() <= kMaxDescriptionBytes) return named;
  Json plan = describe(plans, Times::counted, /*max_named=*/0);
  std::string shorter = text(plan);
  if (shorter.size() <= kMaxDescriptionBytes) return shorter;
  Json all = Json::object();
  all["one of many"] = join_splits(plan.at("splits"));
  plan["splits"] = std::move(all);
  return text(plan);
}

bool is_beside_the_data(std::string_view fact) {
  return fact == "license" || fact == "data_source" || fact == "note" || fact == "samples";
}

std::string describe_split(const SplitPlan& plan) {
  return text_of(split_of(plan, Times::counted, kMaxNamedInputs));
}

std::string describe_bad_samples(const ConvertOptions& options) {
  std::string name(to_string(options.bad_samples));
  if (options.bad_samples == BadSamples::fail ||
      options.max_record_bytes == ConvertOptions{}.max_record_bytes) {
    return name;
  }
  return fmt::format("{}, max_record {}", name, options.max_record_bytes);
}

std::string plan_difference(std::string_view found, std::string_view planned) {
  return compare_texts(found, planned, [](const Json& then, const Json& now) {
    return Comparison(then, now).text();
  });
}

std::string split_difference(const std::string& name, std::string_view found,
                             std::string_view planned) {
  return compare_texts(found, planned, [&name](const Json& then, const Json& now) {
    Comparison comparison;
    comparison.compare_split(name, then, now);
    return comparison.text();
  });
}

bool differ_in_times_alone(std::string_view found, std::string_view planned) {
  // Throws where there is no kUntimedInputs.
  const auto without_times = [](Json description) {
    const auto strip = [](Json& split) {
      split["inputs"] = Json::object();
      split["inputs"]["all"] = split.at(kUntimedInputs);
      split["times"] = "";
    };
    if (!description.contains("splits")) {
      strip(description);
    } else {
      for (Json& split : description["splits"]) strip(split);
    }
    return description;
  };
  try {
    const Json then = without_times(Json::parse(found));
    const Json now = without_times(Json::parse(planned));
    if (!then.contains("splits")) return then == now;
    return Comparison(then, now).text().empty();
  } catch (const Json::exception&) {
    return false;
  }
}

std::string plan_fingerprint(const std::vector<SplitPlan>& plans) {
  return hash_of(text_of(describe(plans, Times::left_out)));
}

std::string PartRange::text() const {
  return fmt::format("{}/{}: {} {} to {} of {}", part.index, part.count, noun(), begin_shard,
                     end_shard - 1, num_shards);
}

std::optional<PartRange> parse_part_range(std::string_view text) {
  std::array<int64_t, 5> numbers{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int64_t& number : numbers) {
    at = std::find_if(at, end, [](char c) { return c >= '0' && c <= '9'; });
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    at = behind;
  }
  const auto [index, count, first, last, num_shards] = numbers;
  if (last == std::numeric_limits<int64_t>::max()) return std::nullopt;
  const PartRange range{.part = {.index = index, .count = count},
                        .begin_shard = first,
                        .end_shard = last + 1,
                        .num_shards = num_shards,
                        .are_groups = text.find("groups") != std::string_view::npos};
  // The words between the numbers are the same as well.
  if (range.text() != text) return std::nullopt;
  return range;
}

void note_found_part(const ConvertOptions& options) {
  const ConvertPart& part = options.part;
  if (part.found_by.empty() || !options.note) return;
  options.note(fmt::format("part {} of {}, from {}", part.index, part.count, part.found_by));
}

}  // namespace ffkit
