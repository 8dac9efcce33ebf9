#include "lmdb/lmdb_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>

#include <ffkit/base/option_names.h>

#include "base/little_endian.h"
#include "base/printable.h"
#include "converter/input/cancel.h"
#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "files/shard_files.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

constexpr size_t kLmdbPageHeader = 16;
constexpr size_t kLmdbNodeHeader = 8;
constexpr uint32_t kLmdbMagic = 0xBEEFC0DE;
constexpr uint32_t kLmdbVersion = 1;
constexpr uint64_t kNoLmdbPage = ~uint64_t{0};
constexpr int kMostLmdbDepth = 32;  // CURSOR_STACK

// Flags of pages.
constexpr uint16_t kBranchPage = 0x01;
constexpr uint16_t kLeafPage = 0x02;
constexpr uint16_t kOverflowPage = 0x04;
constexpr uint16_t kMetaPage = 0x08;
// Flags of nodes.
constexpr uint16_t kBigValue = 0x01;
constexpr uint16_t kSubDatabase = 0x02;
constexpr uint16_t kSeveralValues = 0x04;
// Flags of databases.
constexpr uint16_t kIntegerKeys = 0x08;

// MDB_db: what a file says of a database.
struct LmdbTree {
  static constexpr size_t kBytes = 48;

  explicit LmdbTree(const std::byte* at)
      : pad(load_le<uint32_t>(at)),
        flags(load_le<uint16_t>(at + 4)),
        entries(load_le<uint64_t>(at + 32)),
        root(load_le<uint64_t>(at + 40)) {}

  uint32_t pad;
  uint16_t flags;
  uint64_t entries;
  uint64_t root;
};

class LmdbReader {
 public:
  LmdbReader(const fs::path& path, int64_t num_bytes, const ReadBytes& read,
             const std::atomic<bool>* cancel)
      : path_(path), num_bytes_(num_bytes), read_(read), cancel_(cancel) {}

  LmdbListing list(const std::string& database) {
    const LmdbTree main = newest_tree();
    is_read_.resize(static_cast<size_t>(num_bytes_ / static_cast<int64_t>(page_bytes_)));
    walk(main);
    if (!database.empty()) return list_named(database);
    if (databases_.empty()) {
      listing_.has_integer_keys = (main.flags & kIntegerKeys) != 0;
      return std::move(listing_);
    }
    if (databases_.size() > 1 || !listing_.entries.empty()) {
      throw source_error(
          path_, ErrorCode::unsupported,
          "the file contains the named databases '{}'{}; choose one database with {}",
          fmt::join(database_names(), "', '"),
          listing_.entries.empty() ? "" : " and also entries without a database",
          option_name("database"));
    }
    const std::string only = databases_.front().first;
    return list_named(only);
  }

 private:
  LmdbListing list_named(const std::string& database) {
    const auto found =
        std::ranges::find(databases_, database, &std::pair<std::string, LmdbTree>::first);
    if (found == databases_.end()) {
      throw source_error(
          path_, ErrorCode::not_found, "the file has no database '{}'; {}", printable(database),
          databases_.empty()
              ? std::string("the file has no named databases")
              : fmt::format("the databases are '{}'", fmt::join(database_names(), "', '")));
    }
    const LmdbTree tree = found->second;
    databases_.clear();
    listing_.entries.clear();
    walk(tree);
    if (!databases_.empty()) throw damaged(tree.root, "holds databases inside a named database");
    listing_.database = database;
    listing_.has_integer_keys = (tree.flags & kIntegerKeys) != 0;
    return std::move(listing_);
  }

  std::vector<std::string> database_names() const {
    std::vector<std::string> names;
    names.reserve(databases_.size());
    for (const auto& [name, tree] : databases_) names.push_back(printable(name));
    return names;
  }

  Error damaged(uint64_t page, std::string_view what) const {
    return source_error(path_, ErrorCode::corrupt,
                        "the file is damaged: page {} {}; get the file again", page, what);
  }

  // The main database as the last transaction that was written to its end left it.
  LmdbTree newest_tree() {
    constexpr size_t kMetaBytes = kLmdbPageHeader + 24 + 2 * LmdbTree::kBytes + 16;
    std::array<std::byte, kContentHeadBytes> head{};
    const auto start =
        std::span(head).first(static_cast<size_t>(std::min<int64_t>(num_bytes_, std::ssize(head))));
    read_(0, start);
    if (start.size() < kMetaBytes ||
        load_le<uint32_t>(head.data() + kLmdbPageHeader) != kLmdbMagic) {
      throw no_lmdb_error(start);
    }
    const auto version = load_le<uint32_t>(head.data() + kLmdbPageHeader + 4);
    if (version != kLmdbVersion) {
      throw source_error(path_, ErrorCode::unsupported,
                         "the file is an LMDB file of version {}, but ffkit reads version {}; copy "
                         "it with mdb_dump and mdb_load of LMDB 0.9",
                         version, kLmdbVersion);
    }
    constexpr size_t kTrees = kLmdbPageHeader + 24;
    page_bytes_ = LmdbTree(head.data() + kTrees).pad;
    constexpr size_t kLeastPage = 512;
    constexpr size_t kMostPage = 65536;  // offsets in a page have 16 bits
    if (!std::has_single_bit(page_bytes_) || page_bytes_ < kLeastPage || page_bytes_ > kMostPage) {
      throw damaged(0, "has an impossible page size");
    }
    std::optional<LmdbTree> newest;
    uint64_t newest_transaction = 0;
    for (const int64_t number : {0, 1}) {
      const int64_t at = number * static_cast<int64_t>(page_bytes_);
      if (num_bytes_ - at < static_cast<int64_t>(kMetaBytes)) continue;
      std::array<std::byte, kMetaBytes> meta{};
      read_(at, meta);
      const auto flags = load_le<uint16_t>(meta.data() + 10);
      if ((flags & kMetaPage) == 0 ||
          load_le<uint32_t>(meta.data() + kLmdbPageHeader) != kLmdbMagic) {
        continue;
      }
      const auto transaction = load_le<uint64_t>(meta.data() + kMetaBytes - 8);
      if (newest && transaction <= newest_transaction) continue;
      newest.emplace(meta.data() + kTrees + LmdbTree::kBytes);
      newest_transaction = transaction;
    }
    if (!newest) throw damaged(0, "is not one of the two pages that begin an LMDB file");
    return *newest;
  }

  Error no_lmdb_error(std::span<const std::byte> start) const {
    constexpr size_t kHeaderOf32Bits = 12;
    if (start.size() >= kHeaderOf32Bits + 4 &&
        load_le<uint32_t>(start.data() + kHeaderOf32Bits) == kLmdbMagic) {
      return source_error(path_, ErrorCode::unsupported,
                          "the file is an LMDB file of a 32-bit machine; copy it with mdb_dump on "
                          "that machine and mdb_load on this machine");
    }
    if (start.size() >= kLmdbPageHeader + 4 &&
        load_le<uint32_t>(start.data() + kLmdbPageHeader) == __builtin_bswap32(kLmdbMagic)) {
      return source_error(path_, ErrorCode::unsupported,
                          "the file is an LMDB file of a big-endian machine; copy it with mdb_dump "
                          "on that machine and mdb_load on this machine");
    }
    const ContentKind kind = content_kind(start);
    if (kind == ContentKind::unknown) {
      return source_error(path_, ErrorCode::unsupported, "the file is not an LMDB file");
    }
    return source_error(path_, ErrorCode::unsupported, "the file is {}, not an LMDB file",
                        content_name(kind));
  }

  void walk(const LmdbTree& tree) {
    const size_t num_before = listing_.entries.size() + databases_.size();
    if (tree.root != kNoLmdbPage) walk_page(tree.root, 0);
    const size_t num_found = listing_.entries.size() + databases_.size() - num_before;
    if (num_found != tree.entries) {
      throw source_error(path_, ErrorCode::corrupt,
                         "the file is damaged: its tree has {} entries, but its header says {} "
                         "entries; get the file again",
                         num_found, tree.entries);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion): kMostLmdbDepth deep
  void walk_page(uint64_t number, int depth) {
    throw_if_cancelled(cancel_);
    if (depth >= kMostLmdbDepth) throw damaged(number, "lies too deep in the tree");
    if (number >= is_read_.size()) {
      throw source_error(
          path_, ErrorCode::corrupt,
          "the file is cut short: it has {} pages, but its tree uses page {}; get the file again",
          is_read_.size(), number);
    }
    if (is_read_[number]) throw damaged(number, "appears twice in the tree");
    is_read_[number] = true;
    std::vector<std::byte> page(page_bytes_);
    read_(static_cast<int64_t>(number * page_bytes_), page);
    if (load_le<uint64_t>(page.data()) != number) throw damaged(number, "has a wrong page number");
    const auto flags = load_le<uint16_t>(page.data() + 10);
    const auto lower = load_le<uint16_t>(page.data() + 12);
    const bool is_branch = (flags & kBranchPage) != 0;
    if (is_branch == ((flags & kLeafPage) != 0) || (flags & (kOverflowPage | kMetaPage)) != 0) {
      throw damaged(number, "is neither a branch nor a leaf");
    }
    if (lower < kLmdbPageHeader || lower > page_bytes_) {
      throw damaged(number, "has more nodes than fit into the page");
    }
    const size_t num_nodes = (lower - kLmdbPageHeader) / sizeof(uint16_t);
    for (size_t i = 0; i < num_nodes; ++i) {
      const size_t at = load_le<uint16_t>(page.data() + kLmdbPageHeader + i * sizeof(uint16_t));
      if (at < lower || at + kLmdbNodeHeader > page_bytes_) {
        throw damaged(number, "has a node outside the page");
      }
      if (is_branch) {
        walk_page(branch_child(page.data() + at), depth + 1);
      } else {
        add_node(number, page, at);
      }
    }
  }

  static uint64_t branch_child(const std::byte* node) {
    return load_le<uint32_t>(node) | uint64_t{load_le<uint16_t>(node + 4)} << 32;
  }

  void add_node(uint64_t number, std::span<const std::byte> page, size_t at) {
    const std::byte* const node = page.data() + at;
    const uint64_t num_bytes = load_le<uint32_t>(node);
    const auto flags = load_le<uint16_t>(node + 4);
    const size_t key_bytes = load_le<uint16_t>(node + 6);
    const size_t value_at = at + kLmdbNodeHeader + key_bytes;
    const bool is_big = (flags & kBigValue) != 0;
    const uint64_t in_page = is_big ? sizeof(uint64_t) : num_bytes;
    if (value_at > page.size() || in_page > page.size() - value_at) {
      throw damaged(number, "has a node that does not fit into the page");
    }
    std::string key(reinterpret_cast<const char*>(node) + kLmdbNodeHeader, key_bytes);
    if ((flags & kSeveralValues) != 0) {
      throw source_error(path_, ErrorCode::unsupported,
                         "the file has several values for the key '{}' (MDB_DUPSORT); copy each "
                         "value to its own key",
                         printable(key));
    }
    if ((flags & kSubDatabase) != 0) {
      if (num_bytes != LmdbTree::kBytes) throw damaged(number, "has an invalid database");
      databases_.emplace_back(std::move(key), LmdbTree(page.data() + value_at));
      return;
    }
    FileRange value{static_cast<int64_t>(number * page_bytes_ + value_at),
                    static_cast<int64_t>(num_bytes)};
    if (is_big) value.offset = overflow_offset(number, load_le<uint64_t>(page.data() + value_at));
    listing_.entries.push_back({.key = std::move(key), .value = value});
  }

  // Where the value in the overflow pages from `first` on begins. They are not read: that a value
  // is cut is told when it is.
  int64_t overflow_offset(uint64_t number, uint64_t first) const {
    constexpr uint64_t kMostPages = uint64_t{1} << 40;
    if (first < 2 || first > kMostPages) throw damaged(number, "refers to an impossible page");
    return static_cast<int64_t>(first * page_bytes_ + kLmdbPageHeader);
  }

  const fs::path& path_;
  const int64_t num_bytes_;
  const ReadBytes& read_;
  const std::atomic<bool>* const cancel_;
  size_t page_bytes_ = 0;
  std::vector<bool> is_read_;  // by page
  LmdbListing listing_;
  std::vector<std::pair<std::string, LmdbTree>> databases_;
};

constexpr const char* kDataFile = "data.mdb";
constexpr std::array<std::string_view, 4> kLmdbEndings = {".lmdb", ".mdb", "_lmdb", "-lmdb"};

std::string stem_of_lmdb(std::string name) {
  for (const std::string_view ending : kLmdbEndings) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
      break;
    }
  }
  return name;
}

bool is_lmdb_name(const std::string& name) {
  return name != "lock.mdb" && (name.ends_with(".mdb") || name.ends_with(".lmdb"));
}

struct NamedLmdb {
  std::string stem;
  fs::path file;
  auto operator<=>(const NamedLmdb&) const = default;
};

NamedLmdb named_file(const fs::path& file) {
  const std::string name = name_of_file(file);
  return {stem_of_lmdb(name == kDataFile ? name_of_file(file.parent_path()) : name), file};
}

std::vector<NamedLmdb> lmdb_files_at(const fs::path& path) {
  refuse_dangling_link(path);
  if (is_brace_list(path)) {
    std::vector<NamedLmdb> found;
    for (const fs::path& file : expand_braces(path)) found.push_back(named_file(file));
    return found;
  }
  if (has_file_at(path)) return {named_file(path)};
  if (has_file_at(path / kDataFile)) {
    // "folder/" is called "folder", too.
    const fs::path folder = path.has_filename() ? path : path.parent_path();
    return {{stem_of_lmdb(name_of_file(folder)), path / kDataFile}};
  }
  if (!is_folder_at(path)) {
    throw source_error(path, ErrorCode::not_found, "there is no such file or folder");
  }
  std::vector<NamedLmdb> found;
  while_listing(path, [&] {
    for (const FolderEntry& entry : FolderEntries(path)) {
      const std::string name = name_of_file(entry.path());
      if (name.starts_with('.')) continue;
      refuse_dangling_link(entry.path());
      if (!entry.is_directory()) {
        if (is_lmdb_name(name)) found.push_back({stem_of_lmdb(name), entry.path()});
      } else if (has_file_at(entry.path() / kDataFile)) {
        found.push_back({stem_of_lmdb(name), entry.path() / kDataFile});
      }
    }
  });
  std::ranges::sort(found);
  return found;
}

// "bedroom" of LSUN's "bedroom_train".
std::string category_of(std::string_view stem) {
  for (const std::string_view split : {"_train", "_val", "_test"}) {
    if (stem.size() > split.size() && stem.ends_with(split)) {
      return std::string(stem.substr(0, stem.size() - split.size()));
    }
  }
  return {};
}

}  // namespace

LmdbListing list_lmdb(const fs::path& path, int64_t num_bytes, const ReadBytes& read,
                      const std::string& database, const std::atomic<bool>* cancel) {
  return LmdbReader(path, num_bytes, read, cancel).list(database);
}

std::vector<LmdbPlace> find_lmdb_files(const fs::path& path) {
  const std::vector<NamedLmdb> found = lmdb_files_at(path);
  if (found.empty()) {
    throw source_error(path, ErrorCode::not_found,
                       "the folder contains no LMDB: there is no data.mdb, no folder with data.mdb "
                       "and no .mdb file");
  }
  const bool tell = std::ranges::any_of(
      found, [](const NamedLmdb& one) { return !split_in_name(one.stem).empty(); });
  std::vector<LmdbPlace> places;
  places.reserve(found.size());
  for (const NamedLmdb& one : found) {
    std::string split = tell ? split_in_name(one.stem) : "train";
    if (split.empty()) split = stem_without_number(one.stem);
    places.push_back({.file = one.file,
                      .split = split.empty() ? "unnamed" : std::move(split),
                      .category = category_of(one.stem)});
  }
  return places;
}

}  // namespace ffkit
