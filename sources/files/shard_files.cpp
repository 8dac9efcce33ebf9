#include "files/shard_files.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>

#include "base/number_text.h"
#include "converter/input/input_file.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "pictures/image_tree.h"

namespace ffkit {
namespace {

bool is_separator(char c) {
  return c == '-' || c == '_' || c == '.';
}

constexpr std::array<const char*, 5> kPacked = {".gz", ".bz2", ".xz", ".zst", ".lz4"};

// The end of `name` that makes it a compressed file of `ending`: ".tar.gz", or ".tgz" for ".tar".
// Empty for others.
std::string compressed_ending(const std::string& name, const std::string& ending) {
  for (const char* packed : kPacked) {
    if (name.ends_with(ending + packed)) return ending + packed;
  }
  if (ending != ".tar") return {};
  for (const char* one : {".tgz", ".tbz2", ".tbz", ".txz", ".tzst"}) {
    if (name.ends_with(one)) return one;
  }
  return {};
}

std::string stem_of(const fs::path& file, const ShardNames& names) {
  const std::string name = name_of_file(file);
  return names.stem(name).value_or(name);
}

// Of "train-00003-of-01024".
struct CountedName {
  std::string prefix;  // "train-"
  uint64_t number = 0;
  uint64_t total = 0;
};

std::optional<CountedName> counted_name(const std::string& stem) {
  const size_t of = std::max(stem.rfind("-of-") + 1, stem.rfind("_of_") + 1);
  if (of < 2) return std::nullopt;
  const size_t digits = stem.find_last_not_of("0123456789", of - 2) + 1;
  const std::string_view text = stem;
  const auto number = number_of_text<uint64_t>(text.substr(digits, of - 1 - digits));
  const auto total = number_of_text<uint64_t>(text.substr(of + 3));
  if (!number || !total) return std::nullopt;
  return CountedName{.prefix = stem.substr(0, digits), .number = *number, .total = *total};
}

// Files that are not there, although the names of others count them.
void note_missing_files(const fs::path& path, const ShardSplit& split, const ShardNames& names,
                        std::vector<std::string>& notes) {
  std::map<std::pair<std::string, uint64_t>, std::set<uint64_t>> found;  // by prefix and total
  for (const fs::path& file : split.files) {
    const auto name = counted_name(stem_of(file, names));
    if (name) found[{file.parent_path() / name->prefix, name->total}].insert(name->number);
  }
  for (const auto& [of, numbers] : found) {
    if (numbers.size() >= of.second) continue;
    add_note(notes, shown_place(path),
             "split '{}': by their names, there are {} files ({}*), but only {} exist; the "
             "samples of the others are missing",
             split.name, of.second, name_of_file(of.first), numbers.size());
  }
}

SplitFiles by_name(const std::vector<fs::path>& files, const ShardNames& names) {
  return splits_by_name(files, [&](const fs::path& file) { return stem_of(file, names); });
}

// Of a folder of files. Its name is the split; where that is none of the known ones, the files'
// names may tell, as in Hugging Face's data/train-00000-of-00002.parquet.
void add_folder(const fs::path& path, const std::string& folder, const std::vector<fs::path>& files,
                const ShardNames& names, SplitFiles& splits) {
  const std::string split = split_called(folder);
  const bool tell = split.empty() && std::ranges::all_of(files, [&](const fs::path& file) {
                      return !split_in_name(stem_of(file, names)).empty();
                    });
  if (!tell) {
    auto& all = splits[split.empty() ? folder : split];
    all.insert(all.end(), files.begin(), files.end());
    return;
  }
  for (auto& [name, of_split] : by_name(files, names)) {
    if (splits.contains(name)) {
      throw source_error(path, ErrorCode::invalid_argument,
                         "the folder '{}' and another folder both hold files of the split '{}'; "
                         "give only one of the two folders as the source",
                         folder, name);
    }
    splits[name] = of_split;
  }
}

// The folders below `path`, such as "default" or "cifar/3.0.2", in whose folders shards are. Looks
// at some levels and some thousand folders at most: `path` may be a whole disk.
std::vector<std::string> folders_of_splits(const fs::path& path, const ShardNames& names) {
  constexpr int kMostLevels = 4;
  constexpr size_t kMostFolders = 4000;
  std::vector<std::string> found;
  std::vector<std::string> level = data_folders(path, names);
  for (int depth = 1; depth < kMostLevels && !level.empty(); ++depth) {
    std::vector<std::string> below;
    for (const std::string& folder : level) {
      if (below.size() > kMostFolders) break;
      bool has_some = false;
      for (const std::string& name : data_folders(path / folder, names)) {
        has_some = has_some || !shards_in(path / folder / name, names).empty();
        below.push_back(fmt::format("{}/{}", folder, name));
      }
      if (has_some) found.push_back(folder);
    }
    if (!found.empty()) return found;
    level = std::move(below);
  }
  return found;
}

// Where neither `path` nor its folders hold any.
ShardListing find_deeper_shards(const fs::path& path, const ShardNames& names) {
  const std::vector<std::string> deeper =
      is_folder_at(path) ? folders_of_splits(path, names) : std::vector<std::string>();
  if (deeper.empty()) {
    throw source_error(path, ErrorCode::not_found,
                       "the folder and its subfolders contain no {} ({})", names.noun,
                       names.example);
  }
  if (deeper.size() > 1) {
    const std::span named = std::span(deeper).first(std::min<size_t>(deeper.size(), 5));
    throw source_error(path, ErrorCode::not_found,
                       "the folder and its subfolders contain no {}, but there are such files "
                       "deeper, in '{}'{}; give one of these folders",
                       names.noun, fmt::join(named, "', '"),
                       deeper.size() > named.size()
                           ? fmt::format(" and {} more", deeper.size() - named.size())
                           : std::string());
  }
  ShardListing listing = find_shards(path / deeper.front(), names);
  listing.notes.insert(
      listing.notes.begin(),
      fmt::format("{}: all {} are below '{}'", shown_place(path), names.noun, deeper.front()));
  return listing;
}

}  // namespace

std::vector<fs::path> shards_in(const fs::path& folder, const ShardNames& names) {
  std::vector<fs::path> files;
  while_listing(folder, [&] {
    for (const FolderEntry& entry : FolderEntries(folder)) {
      const std::string name = entry.path().filename().string();
      if (is_hidden_name(name, names) || !names.stem(name)) continue;
      refuse_dangling_link(entry.path());
      if (entry.is_directory()) continue;
      files.push_back(entry.path());
    }
  });
  std::ranges::sort(files);
  std::map<std::string, std::string> name_of_stem;
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    const auto [other, is_new] = name_of_stem.emplace(stem_of(file, names), name);
    if (is_new) continue;
    throw source_error(folder, ErrorCode::invalid_argument,
                       "'{}' and '{}' have the names of the same shard; remove one of them",
                       other->second, name);
  }
  return files;
}

std::vector<std::string> data_folders(const fs::path& path, const ShardNames& names) {
  std::vector<std::string> folders = list_folders(path);
  std::erase_if(folders, [&](const std::string& name) { return is_hidden_name(name, names); });
  return folders;
}

bool is_hidden_name(const std::string& name, const ShardNames& names) {
  return name.starts_with('.') ||
         (names.hides_underscores && name.starts_with('_') && name.find('=') == std::string::npos);
}

std::string stem_without_number(std::string stem) {
  const auto strip_digits = [&stem] {
    const size_t length = stem.size();
    stem.resize(stem.find_last_not_of("0123456789") + 1);
    return stem.size() < length;
  };
  std::string whole = stem;
  if (!strip_digits()) return whole;
  if (stem.ends_with("-of-") || stem.ends_with("_of_")) {
    stem.erase(stem.size() - 4);
    strip_digits();
  }
  if (stem.empty()) return stem;
  if (!is_separator(stem.back())) return whole;  // train2017
  while (!stem.empty() && is_separator(stem.back())) stem.pop_back();
  return stem;
}

SplitFiles splits_by_name(const std::vector<fs::path>& files,
                          const std::function<std::string(const fs::path& file)>& stem) {
  const bool tell = std::ranges::any_of(
      files, [&](const fs::path& file) { return !split_in_name(stem(file)).empty(); });
  SplitFiles splits;
  for (const fs::path& file : files) {
    std::string split = tell ? split_in_name(stem(file)) : "train";
    if (split.empty()) split = stem_without_number(stem(file));
    splits[split.empty() ? "unnamed" : split].push_back(file);
  }
  return splits;
}

std::string split_in_name(const std::string& stem) {
  std::string found;
  const std::string text = stem_without_number(stem);
  for (size_t begin = 0; begin <= text.size();) {
    const auto end =
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_separator);
    const size_t length = static_cast<size_t>(end - text.begin()) - begin;
    // The last one counts: "train-subset-val-0001" is of the split that comes last.
    if (std::string split = split_called(text.substr(begin, length)); !split.empty()) found = split;
    begin += length + 1;
  }
  return found;
}

ShardListing listing_of(const fs::path& path, const SplitFiles& splits) {
  ShardListing listing;
  for (const auto& [name, files] : splits) {
    add_note(listing.notes, shown_place(path), "{} {} '{}' ({}{})", files.size(),
             files.size() == 1 ? "file is split" : "files are split", name,
             name_of_file(files.front()), files.size() == 1 ? "" : ", ...");
    listing.splits.push_back({name, name.starts_with("train"), files});
  }
  // Not of std::ranges: clang-tidy 14 cannot read libstdc++'s subrange.
  std::stable_partition(listing.splits.begin(), listing.splits.end(),
                        [](const ShardSplit& split) { return split.is_training; });
  return listing;
}

ShardNames names_ending_in(const std::string& ending) {
  return {.stem = [ending](const std::string& name) -> std::optional<std::string> {
            const size_t length =
                name.ends_with(ending) ? ending.size() : compressed_ending(name, ending).size();
            if (length == 0) return std::nullopt;
            return name.substr(0, name.size() - length);
          },
          .noun = fmt::format("{} files", ending),
          .example = fmt::format("train/*{}", ending)};
}

ShardListing find_shards(const fs::path& path, const ShardNames& names) {
  refuse_dangling_link(path);
  SplitFiles splits;
  if (is_brace_list(path)) {
    splits = by_name(expand_braces(path), names);
  } else if (is_folder_at(path)) {
    const std::vector<fs::path> files = shards_in(path, names);
    splits = by_name(files, names);
    for (const std::string& folder : data_folders(path, names)) {
      const std::vector<fs::path> in_folder = shards_in(path / folder, names);
      if (in_folder.empty()) continue;
      if (!files.empty()) {
        throw source_error(path, ErrorCode::invalid_argument,
                           "the source holds {0}, and the folder '{1}' in the source also holds "
                           "{0}; give only one of the two places, or put all files into folders",
                           names.noun, folder);
      }
      add_folder(path, folder, in_folder, names, splits);
    }
  } else if (exists_at(path)) {
    splits = by_name({path}, names);
  } else {
    throw source_error(path, ErrorCode::not_found, "there is no such file or folder");
  }
  if (splits.empty()) return find_deeper_shards(path, names);
  ShardListing listing = listing_of(path, splits);
  if (is_brace_list(path) || is_folder_at(path)) {
    for (const ShardSplit& split : listing.splits) {
      note_missing_files(path, split, names, listing.notes);
    }
  }
  return listing;
}

}  // namespace ffkit
