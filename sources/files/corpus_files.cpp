#include "files/corpus_files.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <vector>

#include <ffkit/base/option_names.h>

#include "archives/compressed_stream.h"
#include "converter/input/input_file.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "files/text_files.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

constexpr const char* kTextEnding = ".txt";
constexpr std::array kLineEndings = {".jsonl", ".ndjson"};
constexpr size_t kMaxToldEndings = 5;

bool names_json_lines(const std::string& plain) {
  return std::ranges::any_of(kLineEndings,
                             [&](const char* ending) { return plain.ends_with(ending); });
}

bool names_json(const std::string& plain) {
  return names_json_lines(plain) || plain.ends_with(".json");
}

// "jsonl" asks for the same as ".jsonl", and ".jsonl.gz" for JSON too.
bool asks_for_json(const std::string& ending) {
  return names_json(plain_name("." + ending));
}

bool has_ending(const fs::path& file, const std::string& ending) {
  const std::string name = name_of_file(file);
  return name.ends_with(ending) ||
         std::string_view(name).substr(0, plain_name(file).size()).ends_with(ending);
}

// The file's name without its endings.
std::string corpus_stem(const fs::path& file, const std::string& ending) {
  std::string name = name_of_file(file);
  if (!ending.empty() && name.ends_with(ending)) {
    return name.substr(0, name.size() - ending.size());
  }
  name.resize(plain_name(file).size());
  if (!ending.empty() && name.ends_with(ending)) {
    return name.substr(0, name.size() - ending.size());
  }
  return fs::path(name).stem().string();
}

// Everything below the folder, sorted.
std::vector<fs::path> all_files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  if (Place(folder).is_in_store()) {
    for (fs::path& file : objects_below(folder)) {
      const fs::path below = file.lexically_relative(folder);
      const bool is_hidden = std::ranges::any_of(
          below, [](const fs::path& name) { return name.native().starts_with('.'); });
      if (!is_hidden) files.push_back(std::move(file));
    }
    return files;
  }
  while_listing(folder, [&] {
    const auto options = fs::directory_options::follow_directory_symlink;
    for (auto at = fs::recursive_directory_iterator(folder, options);
         at != fs::recursive_directory_iterator(); ++at) {
      std::error_code dangling;
      const bool is_folder = at->is_directory(dangling);
      if (!is_folder) refuse_dangling_link(at->path());
      if (at->path().filename().string().starts_with('.')) {
        if (is_folder) at.disable_recursion_pending();
      } else if (!is_folder) {
        files.push_back(at->path());
      }
    }
  });
  std::ranges::sort(files);
  return files;
}

// The text at the beginning of the file, decompressed.
std::string head_of_text(const fs::path& path) {
  constexpr size_t kHeadBytes = 64 << 10;
  const InputFile file(path);
  std::string head(kHeadBytes, '\0');
  const auto bytes = std::as_writable_bytes(std::span(head));
  const auto raw = static_cast<size_t>(std::min<int64_t>(file.size(), std::ssize(head)));
  file.read_at(0, bytes.first(raw));
  const ContentKind kind = content_kind(bytes.first(raw));
  head.resize(CompressedStream::takes(kind) ? CompressedStream(file, kind).read(bytes) : raw);
  return head;
}

bool begins_with_json_object(const fs::path& path) {
  std::string head = head_of_text(path);
  head.erase(0, mark_length(head));
  const size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || head[begin] != '{') return false;
  const std::string line = head.substr(begin, head.find('\n', begin) - begin);
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  return parser.parse(line).get(object) == simdjson::SUCCESS;
}

// "2 .md, 1 .parquet (a parquet file)".
std::string told_by_ending(const std::vector<fs::path>& files) {
  std::map<std::string, std::vector<fs::path>> by_ending;
  for (const fs::path& file : files) by_ending[file.extension().string()].push_back(file);
  std::string text;
  size_t num_told = 0;
  for (const auto& [ending, some] : by_ending) {
    if (++num_told > kMaxToldEndings) return text + ", ...";
    ContentKind kind = ContentKind::unknown;
    try {
      kind = content_kind(InputFile(some.front()).head());
    } catch (const Error&) {  // it is left out whatever it is
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", some.size(),
                        ending.empty() ? "without an ending" : ending);
    if (kind != ContentKind::unknown) text += fmt::format(" ({})", content_name(kind));
  }
  return text;
}

struct Found {
  std::vector<fs::path> chosen;
  std::vector<fs::path> others;
  bool is_json = false;
};

Found choose_files(const fs::path& path, const CorpusQuery& query) {
  std::vector<fs::path> json;
  std::vector<fs::path> texts;
  std::vector<fs::path> others;
  bool has_lines = false;
  for (fs::path& file : all_files_below(path)) {
    const std::string plain = plain_name(file);
    if (!query.ending.empty()) {
      const bool is_asked = has_ending(file, query.ending);
      (is_asked ? (asks_for_json(query.ending) ? json : texts) : others).push_back(std::move(file));
    } else if (names_json(plain)) {
      has_lines = has_lines || names_json_lines(plain);
      json.push_back(std::move(file));
    } else {
      (query.takes_texts && plain.ends_with(kTextEnding) ? texts : others)
          .push_back(std::move(file));
    }
  }
  // A .json beside texts may be about them.
  if (!json.empty() && !texts.empty() && !has_lines) {
    throw source_error(path, ErrorCode::invalid_argument,
                       "holds .json files ({}, ...) and .txt files ({}, ...); choose the "
                       "documents with {} or {}",
                       json.front().filename().string(), texts.front().filename().string(),
                       option_set("ending", ".json"), option_set("ending", ".txt"));
  }
  if (json.empty()) return {std::move(texts), std::move(others), false};
  others.insert(others.end(), texts.begin(), texts.end());
  return {std::move(json), std::move(others), true};
}

[[noreturn]] void refuse_empty(const fs::path& path, const CorpusQuery& query,
                               const std::vector<fs::path>& others) {
  const std::string wanted = !query.ending.empty() ? query.ending
                             : query.takes_texts   ? ".jsonl, .ndjson, .json or .txt"
                                                   : ".jsonl, .ndjson or .json";
  throw source_error(
      path, others.empty() || !query.ending.empty() ? ErrorCode::not_found : ErrorCode::unsupported,
      "the folder and its subfolders contain no {} files{}{}", wanted,
      others.empty() ? "" : fmt::format(", but they contain {}", told_by_ending(others)),
      query.takes_texts
          ? fmt::format("; give the ending of the text files with {}", option_name("ending"))
          : "");
}

SplitFiles by_names(const std::vector<fs::path>& files, const std::string& ending) {
  return splits_by_name(files, [&](const fs::path& file) { return corpus_stem(file, ending); });
}

// The first folder of `below` that has a split's name; else the first folder.
std::string json_split_of(const fs::path& below) {
  const fs::path folders = below.parent_path();
  for (const fs::path& folder : folders) {
    if (std::string split = split_called(folder.string()); !split.empty()) return split;
  }
  return folders.begin()->string();
}

SplitFiles splits_of(const fs::path& path, const Found& found, const CorpusQuery& query) {
  // One folder that holds everything says nothing, unless it has a split's name.
  fs::path root = path;
  const auto folder_of = [&root](const fs::path& file) {
    const fs::path below = file.lexically_relative(root);
    return below.has_parent_path() ? below.begin()->string() : std::string();
  };
  for (std::string all = folder_of(found.chosen.front());
       !all.empty() && split_in_name(all).empty() &&
       std::ranges::all_of(found.chosen, [&](const auto& f) { return folder_of(f) == all; });
       all = folder_of(found.chosen.front())) {
    root /= all;
  }
  SplitFiles folders;  // of the first level
  for (const fs::path& file : found.chosen) folders[folder_of(file)].push_back(file);
  const bool has_files = folders.contains("");
  if (has_files && folders.size() == 1) return by_names(found.chosen, query.ending);
  if (has_files && found.is_json) {
    throw source_error(root, ErrorCode::invalid_argument,
                       "holds {} itself, and its folder '{}' holds {} as well; give one of them, "
                       "or put all files into folders",
                       folders.at("").front().filename().string(),
                       std::next(folders.begin())->first,
                       std::next(folders.begin())->second.front().filename().string());
  }
  SplitFiles splits;
  const bool are_splits = std::ranges::all_of(
      folders, [](const auto& folder) { return !split_in_name(folder.first).empty(); });
  for (const fs::path& file : found.chosen) {
    std::string split = "train";
    if (found.is_json) {
      split = json_split_of(file.lexically_relative(root));
    } else if (are_splits) {
      split = split_in_name(folder_of(file));
    }
    splits[split].push_back(file);
  }
  return splits;
}

// Of a file that is given.
bool is_json_by_name(const fs::path& file, const CorpusQuery& query) {
  if (!query.takes_texts) return true;
  return query.ending.empty() ? names_json(plain_name(file)) : asks_for_json(query.ending);
}

}  // namespace

Corpus find_corpus(const fs::path& path, const CorpusQuery& query) {
  Found found;
  bool is_folder = false;
  if (is_brace_list(path)) {
    found.chosen = expand_braces(path);
    found.is_json = is_json_by_name(found.chosen.front(), query);
  } else if (is_folder_at(path)) {
    is_folder = true;
    found = choose_files(path, query);
    if (found.chosen.empty()) refuse_empty(path, query, found.others);
  } else if (exists_at(path)) {
    found.chosen = {path};
    found.is_json = is_json_by_name(path, query);
  } else {
    throw source_error(path, ErrorCode::not_found, "there is no such file or folder");
  }
  std::vector<std::string> notes;
  if (!found.is_json && query.ending.empty() && begins_with_json_object(found.chosen.front())) {
    found.is_json = true;
    add_note(notes, shown_place(found.chosen.front()),
             "the first line is a JSON object, so the file is read as JSON lines; to read it as "
             "text, use {}",
             option_set("ending",
                        (found.chosen.front().has_extension() ? found.chosen.front().extension()
                                                              : found.chosen.front().filename())
                            .string()));
  }
  Corpus corpus{.is_json = found.is_json,
                .listing = listing_of(path, is_folder ? splits_of(path, found, query)
                                                      : by_names(found.chosen, query.ending))};
  if (!found.others.empty()) {
    add_note(notes, shown_place(path), "{} {} left out, because of {}: {}", found.others.size(),
             found.others.size() == 1 ? "file is" : "files are",
             found.others.size() == 1 ? "its name" : "their names", told_by_ending(found.others));
  }
  corpus.listing.notes.insert(corpus.listing.notes.end(), notes.begin(), notes.end());
  return corpus;
}

}  // namespace ffkit
