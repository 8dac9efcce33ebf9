// What tokenizer.json says beside vocabulary and merges: each member is done, has no effect, or is
// refused by its name.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/make_error.h"
#include "base/printable.h"
#include "tokenizer_tables.h"

namespace ffkit::text {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

using Tables = Tokenizer::Tables;

constexpr std::array kBehaviors = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                   "Contiguous"};
constexpr std::array kForms = {"NFC", "NFD", "NFKC", "NFKD"};

// The steps of a part that may be a sequence of them, one within the other.
class PartReader {
 public:
  PartReader(const fs::path& path, const char* part, const char* list)
      : path_(path), part_(part), list_(list) {}

  template <class OnStep>
  void for_each_step(const Json& json, OnStep on_step, int depth = 0) const {
    if (json.is_null()) return;
    if (!json.is_object() || depth > 20) refuse("is not a JSON object, or is nested too deep");
    if (type_of(json) != "Sequence") return on_step(json);
    require_known(json, {"type", list_}, std::string(part_), path_);
    const Json& steps = member(json, list_);
    if (!steps.is_array()) refuse(fmt::format("has no '{}'", list_));
    for (const Json& step : steps) for_each_step(step, on_step, depth + 1);
  }

  static std::string type_of(const Json& json) {
    const Json& type = member(json, "type");
    return type.is_string() ? type.get<std::string>() : type.dump();
  }
  bool flag(const Json& json, const char* name, bool otherwise) const {
    const Json& value = member(json, name);
    if (value.is_null()) return otherwise;
    if (!value.is_boolean()) refuse(fmt::format("has a '{}' that is neither true nor false", name));
    return value.get<bool>();
  }
  // {"Regex": "..."} or {"String": "..."}
  Pattern pattern(const Json& json) const {
    for (const char* name : {"Regex", "String"}) {
      if (!json.is_object() || json.size() != 1 || !member(json, name).is_string()) continue;
      const auto text = json[name].get<std::string>();
      try {
        return name[0] == 'R' ? Pattern::parse(text) : Pattern::of_text(text);
      } catch (const Error& error) {
        throw error.with_message(fmt::format("the {} {}", part_, error.message()))
            .within({.path = path_.string()});
      }
    }
    refuse("has a pattern that is not a Regex or a String");
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw error_at(path_, ErrorCode::corrupt, "the {} {}", part_, what);
  }
  [[noreturn]] void refuse_type(const Json& json) const {
    refuse_kind(path_, fmt::format("a {} of type \"{}\"", part_, type_of(json)));
  }

 private:
  const fs::path& path_;
  const char* part_;
  const char* list_;
};

void read_normalizer(const Json& json, Tables& tables, const fs::path& path) {
  const PartReader reader(path, "normalizer", "normalizers");
  std::string steps;
  reader.for_each_step(json, [&](const Json& step) {
    const std::string type = PartReader::type_of(step);
    const auto form = std::ranges::find(kForms, type);
    NormalizerStep made;
    if (form != kForms.end()) {
      require_known(step, {"type"}, "the normalizer", path);
      made.form = static_cast<NormalForm>(form - kForms.begin());
    } else if (type == "Replace") {
      require_known(step, {"type", "pattern", "content"}, "the normalizer", path);
      if (!member(step, "content").is_string()) reader.refuse("has no 'content'");
      made.pattern.push_back(reader.pattern(member(step, "pattern")));
      made.content = step["content"].get<std::string>();
    } else {
      reader.refuse_type(step);
    }
    tables.normalizer.steps.push_back(std::move(made));
    steps += (steps.empty() ? "" : ",") + step.dump();
  });
  if (steps.empty()) return;
  tables.normalizer_json =
      tables.normalizer.steps.size() == 1
          ? steps
          : fmt::format("{{\"type\":\"Sequence\",\"normalizers\":[{}]}}", steps);
}

void read_pre_tokenizer(const Json& json, Tables& tables, const fs::path& path) {
  const PartReader reader(path, "pre_tokenizer", "pretokenizers");
  if (json.is_null()) refuse_kind(path, "no pre_tokenizer");
  bool is_done = false;
  reader.for_each_step(json, [&](const Json& step) {
    const std::string type = PartReader::type_of(step);
    if (is_done) {
      refuse_kind(path, fmt::format("a pre_tokenizer of type \"{}\" after ByteLevel", type));
    }
    SplitStep made;
    if (type == "ByteLevel") {
      require_known(step, {"type", "add_prefix_space", "trim_offsets", "use_regex"},
                    "the pre_tokenizer", path);
      tables.pre_tokenizer.adds_prefix_space = reader.flag(step, "add_prefix_space", false);
      tables.splits_words = reader.flag(step, "use_regex", true);
      is_done = true;
      return;
    }
    if (type == "Split") {
      require_known(step, {"type", "pattern", "behavior", "invert"}, "the pre_tokenizer", path);
      made.pattern.push_back(reader.pattern(member(step, "pattern")));
      made.is_inverted = reader.flag(step, "invert", false);
      const Json& behavior = member(step, "behavior");
      const auto found = std::ranges::find_if(
          kBehaviors, [&behavior](const char* name) { return behavior == name; });
      if (found == kBehaviors.end()) {
        refuse_kind(
            path, fmt::format("the behavior {} in the pre_tokenizer", printable(behavior.dump())));
      }
      made.behavior = static_cast<SplitBehavior>(found - kBehaviors.begin());
    } else if (type == "Digits") {
      require_known(step, {"type", "individual_digits"}, "the pre_tokenizer", path);
      made.behavior = reader.flag(step, "individual_digits", false) ? SplitBehavior::isolated
                                                                    : SplitBehavior::contiguous;
    } else {
      reader.refuse_type(step);
    }
    tables.pre_tokenizer.steps.push_back(std::move(made));
    tables.steps_json += (tables.steps_json.empty() ? "" : ",") + step.dump();
  });
  if (!is_done) refuse_kind(path, "a pre_tokenizer without ByteLevel");
}

void read_post_processor(const Json& json, Tables& tables, const fs::path& path) {
  const PartReader reader(path, "post_processor", "processors");
  const auto token = [&](const Json& id) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= tables.tokens.size()) {
      reader.refuse(
          fmt::format("adds token {}, which is not in the vocabulary", printable(id.dump())));
    }
    return id.get<uint32_t>();
  };
  const auto surround = [&tables](const std::vector<uint32_t>& before,
                                  const std::vector<uint32_t>& after) {
    tables.before.insert(tables.before.begin(), before.begin(), before.end());
    tables.after.insert(tables.after.end(), after.begin(), after.end());
  };
  const auto read_template = [&](const Json& step) {
    std::vector<uint32_t> before, after;
    bool has_text = false;
    for (const Json& piece : member(step, "single")) {
      if (piece.is_object() && piece.contains("Sequence")) {
        if (has_text) reader.refuse("contains the text twice");
        has_text = true;
        continue;
      }
      const Json& special = piece.is_object() ? member(piece, "SpecialToken") : member(step, "");
      const Json& name = special.is_object() ? member(special, "id") : special;
      const Json& all = member(step, "special_tokens");
      const Json& known = name.is_string() && all.is_object()
                              ? member(all, name.get_ref<const std::string&>().c_str())
                              : member(step, "");
      if (!known.is_object() || !member(known, "ids").is_array()) {
        reader.refuse(fmt::format("adds {}, but gives no number for it", printable(name.dump())));
      }
      for (const Json& id : known["ids"]) (has_text ? after : before).push_back(token(id));
    }
    if (!has_text) reader.refuse("does not contain the text");
    surround(before, after);
  };
  reader.for_each_step(json, [&](const Json& step) {
    const std::string type = PartReader::type_of(step);
    if (type == "ByteLevel") {  // offsets alone
      require_known(step, {"type", "add_prefix_space", "trim_offsets", "use_regex"},
                    "the post_processor", path);
    } else if (type == "TemplateProcessing") {
      require_known(step, {"type", "single", "pair", "special_tokens"}, "the post_processor", path);
      read_template(step);
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      require_known(step, {"type", "sep", "cls", "trim_offsets", "add_prefix_space"},
                    "the post_processor", path);
      const auto number = [&](const char* name) {
        const Json& pair = member(step, name);
        if (!pair.is_array() || pair.size() != 2) reader.refuse(fmt::format("has no '{}'", name));
        return token(pair[1]);
      };
      surround({number("cls")}, {number("sep")});
    } else {
      reader.refuse_type(step);
    }
  });
}

void check_decoder(const Json& json, const fs::path& path) {
  const PartReader reader(path, "decoder", "decoders");
  reader.for_each_step(json, [&](const Json& step) {
    if (PartReader::type_of(step) != "ByteLevel") reader.refuse_type(step);
  });
}

}  // namespace

AddedToken read_added_token(const Json& json, const fs::path& path) {
  const PartReader reader(path, "added token", "");
  if (!json.is_object() || !member(json, "content").is_string() ||
      member(json, "content").get_ref<const std::string&>().empty()) {
    throw error_at(path, ErrorCode::corrupt, "an added token has no 'content'");
  }
  require_known(json, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"},
                "an added token", path);
  return {.content = json["content"].get<std::string>(),
          .is_special = reader.flag(json, "special", false),
          .is_normalized = reader.flag(json, "normalized", false),
          .is_word = reader.flag(json, "single_word", false),
          .strips_left = reader.flag(json, "lstrip", false),
          .strips_right = reader.flag(json, "rstrip", false)};
}

void read_parts(const Json& json, Tables& tables, const fs::path& path) {
  require_known(json,
                {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                 "post_processor", "decoder", "model"},
                "the file", path);
  for (const char* name : {"truncation", "padding"}) {
    if (member(json, name).is_null()) continue;
    throw error_at(path, ErrorCode::unsupported,
                   "the file has the entry '{}', which would change the length of "
                   "documents; set this entry to null in the file",
                   name);
  }
  read_normalizer(member(json, "normalizer"), tables, path);
  read_pre_tokenizer(member(json, "pre_tokenizer"), tables, path);
  read_post_processor(member(json, "post_processor"), tables, path);
  check_decoder(member(json, "decoder"), path);
}

std::string added_token_json(const AddedToken& token) {
  return fmt::format(
      "{{\"id\":{},\"content\":{},\"single_word\":{},\"lstrip\":{},\"rstrip\":{},"
      "\"normalized\":{},\"special\":{}}}",
      token.id, Json(token.content).dump(), token.is_word, token.strips_left, token.strips_right,
      token.is_normalized, token.is_special);
}

}  // namespace ffkit::text
