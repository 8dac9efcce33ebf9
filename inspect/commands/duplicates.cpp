// ffinspect duplicates: which records hold the same picture, in a split and across splits.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/make_error.h"
#include "base/printable.h"
#include "commands.h"
#include "data/data_sets.h"
#include "duplicates/duplicate_search.h"
#include "text/output.h"
#include "tools/common/output_file.h"

namespace ffkit {
namespace {

constexpr const char* kDuplicatesFooter =
    R"(Two records are equal when their pictures have the same bytes; a JPEG and its dct code count as the same. They are near when the perceptual hashes
of their pictures (phash of Python's ImageHash) differ in at most --distance of 64 bits: pictures that were encoded again, made larger or smaller, grey, a
little brighter, or cut by 1 %. Mirrored and turned pictures are not near. Records that are equal or near are in one group. If A is near B and B is near C,
all three are in one group, although A and C may differ more. Pictures without content, such as blank ones, and pictures that cannot be decoded are
compared by their bytes.

Hashes are kept in --hashes, one file for each split, so that the next search takes seconds. A search that was stopped continues.

The exit status is 1 if records or pictures are damaged, and 0 otherwise, with or without duplicates.

With --json: one document with
  splits: [split, path, field (null: whole records), num_records, num_pictures (with a hash), num_plain, num_undecodable, num_null, num_damaged,
    num_from_file (hashes that were there), also_in: {split: records that are also in that one; in itself: with another record of the split}, problems],
  num_groups, num_across (groups of several splits, which come first), notes,
  groups: [exact (all have the same bytes), across, records: [split, record, distance (bits from the first one's hash), exact (another one has the same bytes)]].)";

struct DuplicatesCommand {
  Target target;
  std::vector<std::string> splits;
  DuplicateOptions options;
  std::string hashes;
  std::string output;
  std::string keep;
  bool across = false;
  int64_t limit = 20;
};

std::vector<Dataset> open_wanted(const DuplicatesCommand& command) {
  if (command.splits.empty()) return open_splits(command.target);
  if (command.splits.size() > 1 && !command.target.indices.empty()) {
    throw error_at(command.target.path, ErrorCode::invalid_argument,
                   "an index file belongs to one split; give --split once");
  }
  std::vector<Dataset> splits;
  for (const std::string& name : command.splits) {
    if (std::ranges::count(command.splits, name) > 1) {
      throw error_at(command.target.path, ErrorCode::invalid_argument,
                     "split '{}' is given twice; remove one of them", name);
    }
    Target target = command.target;
    target.split = name;
    splits.push_back(open_one_split(target));
  }
  return splits;
}

Duplicates search_showing_progress(const std::vector<Dataset>& splits,
                                   const DuplicateOptions& options) {
  DuplicateProgress progress;
  std::once_flag is_begun;
  std::optional<ProgressLine> line;
  progress.on_done = [&](int64_t num_records) {
    std::call_once(is_begun, [&] {
      line.emplace("hashing", progress.num_total - progress.num_done, "records");
    });
    line->add(num_records);
  };
  return find_duplicates(splits, options, progress);
}

// "20 of 100 records of val are also in train": of two splits, that which is not for training, or
// the smaller one's.
std::string across_text(const Duplicates& found) {
  std::string text;
  const std::vector<DuplicateSplit>& splits = found.splits();
  for (size_t a = 0; a < splits.size(); ++a) {
    for (size_t b = a + 1; b < splits.size(); ++b) {
      if (splits[a].num_also_in[b] == 0) continue;
      const bool is_first = splits[b].name == "train" ||
                            (splits[a].name != "train" &&
                             splits[a].counts.num_records < splits[b].counts.num_records);
      const size_t small = is_first ? a : b;
      const size_t large = is_first ? b : a;
      const int64_t count = splits[small].num_also_in[large];
      text += fmt::format("{} of {} of {} {} also in {}\n", with_commas(count),
                          counted(splits[small].counts.num_records, "record"), splits[small].name,
                          count == 1 ? "is" : "are", splits[large].name);
    }
  }
  if (text.empty() && splits.size() > 1) text = "no record is in two splits\n";
  return text;
}

std::string duplicate_split_text(const DuplicateSplit& split, size_t number) {
  const HashCounts& counts = split.counts;
  std::string text =
      fmt::format("{}: {}: {} {} another one of the split", split.name,
                  counted(counts.num_records, "record"), with_commas(split.num_also_in[number]),
                  split.num_also_in[number] == 1 ? "is like" : "are like");
  const auto add = [&](int64_t count, const char* what) {
    if (count > 0) text += fmt::format("; {} {}", with_commas(count), what);
  };
  add(counts.num_plain, "with too little content for a hash, compared by bytes");
  add(counts.num_undecodable, "with a picture that cannot be decoded, compared by bytes");
  add(counts.num_null, "whose field is null, not compared");
  add(counts.num_damaged, "DAMAGED, not compared");
  return text + "\n";
}

// The record's id, or nothing.
std::string id_of(const Dataset& dataset, int64_t record) {
  const int field = dataset.schema().index_of("id");
  if (field < 0 || dataset.schema().fields[field].type != FieldType::string) return "";
  std::vector<std::byte> bytes;
  if (!dataset.read_field(record, static_cast<size_t>(field), bytes)) return "";
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// All records, or the first `limit`; 0: all.
std::string group_text(const std::vector<Dataset>& wholes, const DuplicateGroup& group,
                       int64_t limit) {
  std::string text;
  const int64_t count = std::ssize(group.records);
  const int64_t num_listed = limit == 0 ? count : std::min(count, limit);
  for (int64_t i = 0; i < num_listed; ++i) {
    const DuplicateRecord& record = group.records[i];
    const Dataset& dataset = wholes[record.split];
    const std::string id = escaped(id_of(dataset, record.record));
    text += fmt::format("  {} {}{}{}{}\n", dataset.manifest().split, record.record,
                        id.empty() ? "" : "  ", id,
                        record.distance == 0 ? "" : fmt::format("  ({} bits)", record.distance));
  }
  if (num_listed < count) {
    text += fmt::format("  ... and {}\n", counted(count - num_listed, "record"));
  }
  return text;
}

// The groups that are shown: the first ones are those across splits.
int64_t num_shown(const DuplicatesCommand& command, const Duplicates& found) {
  return command.across ? found.num_across() : std::ssize(found.groups());
}

std::string duplicates_text(const DuplicatesCommand& command, const std::vector<Dataset>& splits,
                            const Duplicates& found) {
  std::string text = across_text(found);
  for (size_t i = 0; i < found.splits().size(); ++i) {
    text += duplicate_split_text(found.splits()[i], i);
    for (const std::string& problem : found.splits()[i].counts.problems) {
      text += fmt::format("  {}\n", problem);
    }
  }
  std::vector<Dataset> wholes;
  wholes.reserve(splits.size());
  for (const Dataset& split : splits) wholes.push_back(split.whole_split());
  const int64_t count = num_shown(command, found);
  const int64_t num_listed = command.limit == 0 ? count : std::min(count, command.limit);
  for (int64_t i = 0; i < num_listed; ++i) {
    const DuplicateGroup& group = found.groups()[i];
    text += fmt::format("group {}: {}, {}{}\n", i + 1, std::ssize(group.records),
                        group.exact ? "equal" : "near", group.across ? ", across splits" : "");
    text += group_text(wholes, group, command.limit);
  }
  if (num_listed < count) {
    text += fmt::format("... {} more; --limit 0 shows all\n", counted(count - num_listed, "group"));
  }
  return text;
}

Json duplicate_split_json(const Duplicates& found, size_t number, const Dataset& dataset) {
  const DuplicateSplit& split = found.splits()[number];
  Json also_in = Json::object();
  for (size_t i = 0; i < found.splits().size(); ++i) {
    also_in[found.splits()[i].name] = split.num_also_in[i];
  }
  return {{"split", split.name},
          {"path", dataset.path().string()},
          {"field", split.field.empty() ? Json() : Json(split.field)},
          {"num_records", split.counts.num_records},
          {"num_pictures", split.counts.num_pictures},
          {"num_plain", split.counts.num_plain},
          {"num_undecodable", split.counts.num_undecodable},
          {"num_null", split.counts.num_null},
          {"num_damaged", split.counts.num_damaged},
          {"num_from_file", split.counts.num_from_file},
          {"also_in", also_in},
          {"problems", split.counts.problems}};
}

Json duplicates_json(const DuplicatesCommand& command, const std::vector<Dataset>& splits,
                     const Duplicates& found) {
  Json split_list = Json::array();
  for (size_t i = 0; i < splits.size(); ++i)
    split_list.push_back(duplicate_split_json(found, i, splits[i]));
  Json groups = Json::array();
  const int64_t count = num_shown(command, found);
  for (int64_t i = 0; i < count; ++i) {
    const DuplicateGroup& group = found.groups()[i];
    Json records = Json::array();
    for (const DuplicateRecord& record : group.records) {
      records.push_back({{"split", found.splits()[record.split].name},
                         {"record", record.record},
                         {"distance", record.distance},
                         {"exact", record.exact}});
    }
    groups.push_back({{"exact", group.exact}, {"across", group.across}, {"records", records}});
  }
  return {{"splits", split_list},
          {"num_groups", found.groups().size()},
          {"num_across", found.num_across()},
          {"notes", found.notes()},
          {"groups", groups}};
}

void write_kept(const std::string& file, const Dataset& first, const Duplicates& found) {
  std::vector<int64_t> records(first.num_records());
  for (int64_t i = 0; i < first.num_records(); ++i) records[i] = first.index_in_split(i);
  std::string text;
  for (const int64_t record : found.kept(0, records)) text += fmt::format("{}\n", record);
  write_output(file, text);
}

int duplicates(const DuplicatesCommand& command) {
  const std::vector<Dataset> splits = open_wanted(command);
  if (!command.keep.empty() && command.splits.empty() && splits.size() > 1) {
    throw error_at(command.target.path, ErrorCode::invalid_argument,
                   "has several splits; name the split for --keep with --split");
  }
  for (const Dataset& split : splits) {
    require_no_input(command.output, input_files(split, command.target));
    require_no_input(command.keep, input_files(split, command.target));
  }
  DuplicateOptions options = command.options;
  if (command.hashes != "off") {
    options.hash_folder =
        command.hashes.empty() ? default_hash_folder() : std::filesystem::path(command.hashes);
  }
  const Duplicates found = search_showing_progress(splits, options);
  if (!command.target.json) {
    for (const std::string& note : found.notes()) {
      fmt::print(stderr, "note: {}\n", with_option_names(note, OptionStyle::command_line));
    }
  }
  if (!command.keep.empty()) write_kept(command.keep, splits.front(), found);
  write_output(command.output, command.target.json
                                   ? json_text(duplicates_json(command, splits, found), 2)
                                   : duplicates_text(command, splits, found));
  const bool is_whole = std::ranges::all_of(found.splits(), [](const DuplicateSplit& split) {
    return split.counts.num_damaged == 0 && split.counts.num_undecodable == 0;
  });
  return is_whole ? 0 : 1;
}

}  // namespace

void add_duplicates_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DuplicatesCommand>();
  CLI::App* command = add_command(
      app, "duplicates", "Finds equal and almost equal pictures, in one split or in several splits",
      options->target, kDuplicatesFooter);
  command->remove_option(command->get_option("--split"));
  command
      ->add_option("--split", options->splits,
                   "Searches only this split. This option may be given several times. The default "
                   "is all splits")
      ->allow_extra_args(false)
      ->option_text("NAME");
  command
      ->add_option("--field", options->options.field,
                   "Field to compare. The default is the first field of pictures. Fields that are "
                   "not pictures, and records without pictures, are compared by their bytes")
      ->option_text("NAME");
  CLI::Option* distance =
      command
          ->add_option(
              "--distance", options->options.max_distance,
              "Two pictures are almost equal if their hashes differ in at most N of 64 bits")
          ->check(CLI::Range(0, kMaxHashDistance))
          ->option_text("N=4");
  command
      ->add_flag("--exact", options->options.exact,
                 "Finds only equal pictures, and decodes no picture")
      ->excludes(distance);
  command->add_flag("--across", options->across,
                    "Shows only groups with records of several splits");
  command
      ->add_option("--limit", options->limit,
                   "Limit for the text output. It shows at most N groups, and at most N records of "
                   "each group. 0 means all")
      ->check(CLI::NonNegativeNumber)
      ->option_text("N=20");
  command
      ->add_option("--hashes", options->hashes,
                   "Folder for hashes of pictures, or the word 'off'. The default is ffkit/hashes "
                   "in XDG_CACHE_HOME or in ~/.cache")
      ->option_text("FOLDER");
  command
      ->add_option("--keep", options->keep,
                   "File for a list of records of the first --split without duplicates, which "
                   "--indices can read. The list has one record of each group, and no record of a "
                   "group that also has records of another split")
      ->option_text("FILE");
  command
      ->add_option("-o,--output", options->output, "Writes to this file instead of standard output")
      ->option_text("FILE");
  add_choice_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return duplicates(*options); }; });
}

}  // namespace ffkit
