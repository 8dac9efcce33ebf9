#include "dataset/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "base/fnv.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

[[noreturn]] void refuse_source(const Dataset& source, const std::string& message) {
  throw dataset_error(source.path(), ErrorCode::invalid_argument, message);
}

Field without_column(Field field) {
  field.column = false;
  return field;
}

// Adds what `source` has to `joined`, whose fields are from `origins`.
void add_fields(const Dataset& source, Schema& joined, std::vector<const Dataset*>& origins) {
  for (const Field& field : source.schema().fields) {
    const int known = joined.index_of(field.name);
    if (known < 0) {
      joined.fields.push_back(field);
      origins.push_back(&source);
      continue;
    }
    const auto at = static_cast<size_t>(known);
    const std::string own = describe(without_column(field));
    const std::string other = describe(without_column(joined.fields[at]));
    if (own != other) {
      refuse_source(source, fmt::format("its field {} is {} in {}, and records of both cannot be "
                                        "mixed; convert one of them with another name or type",
                                        own, other, origins[at]->path().string()));
    }
    joined.fields[at].column = joined.fields[at].column && field.column;
  }
}

std::optional<FieldMapping> mapping_of(const Schema& stored, const Schema& joined) {
  FieldMapping mapping{.stored = stored, .positions = {}};
  bool is_same = stored.fields.size() == joined.fields.size();
  for (size_t i = 0; i < joined.fields.size(); ++i) {
    const int position = stored.index_of(joined.fields[i].name);
    mapping.positions.push_back(position);
    is_same = is_same && position == static_cast<int>(i);
  }
  if (is_same) return std::nullopt;
  return mapping;
}

void require_same_classes(const Dataset& source, const Dataset& first) {
  const std::vector<std::string>& own = source.manifest().classes;
  const std::vector<std::string>& others = first.manifest().classes;
  const std::string of_first = first.path().string();
  if (own == others) {
    const std::vector<ClassId>& ids = source.manifest().class_ids;
    const std::vector<ClassId>& other_ids = first.manifest().class_ids;
    if (ids.empty() || other_ids.empty() || ids == other_ids) return;
    const auto place = std::ranges::mismatch(ids, other_ids).in1 - ids.begin();
    const auto number = static_cast<size_t>(place);
    refuse_source(source, fmt::format("its class '{}' has the id {} and {} in {}, so that an id "
                                      "would mean two things; convert both with the same ids",
                                      own[number], to_string(ids[number]),
                                      to_string(other_ids[number]), of_first));
  }
  constexpr const char* kRemedy =
      "a label would mean two things; convert both with the same list of classes";
  if (own.size() != others.size()) {
    refuse_source(source, fmt::format("has {} classes and {} has {}, so that {}", own.size(),
                                      of_first, others.size(), kRemedy));
  }
  const auto at = std::ranges::mismatch(own, others).in1 - own.begin();
  refuse_source(source, fmt::format("its class {} is '{}' and '{}' in {}, so that {}", at,
                                    own[static_cast<size_t>(at)], others[static_cast<size_t>(at)],
                                    of_first, kRemedy));
}

// Leaves in `facts` those that `others` have too, with the same values.
void keep_common(std::map<std::string, std::string>& facts,
                 const std::map<std::string, std::string>& others) {
  std::erase_if(facts, [&](const auto& fact) {
    const auto found = others.find(fact.first);
    return found == others.end() || found->second != fact.second;
  });
}

// Begins with a word, so that it is not the fingerprint of one split with the shards of all.
std::string fingerprint_of(const std::vector<Dataset>& sources) {
  uint64_t hash = fnv1a64(std::as_bytes(std::span(std::string_view("chain"))));
  for (const Dataset& source : sources) {
    hash = fnv1a64(std::as_bytes(std::span(source.fingerprint())), hash);
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace

JoinedSplits join_splits(const std::vector<Dataset>& sources) {
  const Dataset& first = sources.front();
  JoinedSplits chain{.manifest = first.manifest(),
                     .mappings = {},
                     .warnings = first.warnings(),
                     .fingerprint = fingerprint_of(sources)};
  Manifest& joined = chain.manifest;
  std::vector<const Dataset*> origins(joined.schema.fields.size(), &first);
  for (const Dataset& source : std::span(sources).subspan(1)) {
    const Manifest& own = source.manifest();
    require_same_classes(source, first);
    add_fields(source, joined.schema, origins);
    if (own.split != joined.split) joined.split += "+" + own.split;
    if (joined.class_names.empty()) joined.class_names = own.class_names;
    if (joined.class_ids.empty()) joined.class_ids = own.class_ids;
    joined.shards.insert(joined.shards.end(), own.shards.begin(), own.shards.end());
    keep_common(joined.source, own.source);
    keep_common(joined.options, own.options);
    for (const std::string& warning : source.warnings()) {
      if (std::ranges::find(chain.warnings, warning) == chain.warnings.end())
        chain.warnings.push_back(warning);
    }
  }
  for (const Dataset& source : sources) {
    chain.mappings.push_back(mapping_of(source.schema(), joined.schema));
  }
  return chain;
}

}  // namespace ffkit
