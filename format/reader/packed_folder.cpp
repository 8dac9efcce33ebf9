#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include <ffkit/format/packed_folder.h>
#include <ffkit/format/record.h>

#include "base/bytes/pickle.h"
#include "base/make_error.h"
#include "reader/open_shards.h"
#include "v1/v1_file.h"

namespace ffkit {
namespace {

constexpr std::string_view kPackedFolderMagic = "piouhjgbr";
constexpr size_t kMaxPathBytes = 4096;  // Linux' PATH_MAX

bool has_magic(std::span<const std::byte> bytes) {
  return bytes.size() > kPackedFolderMagic.size() &&
         std::memcmp(bytes.data(), kPackedFolderMagic.data(), kPackedFolderMagic.size()) == 0;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// Walks the tree. Every folder may be met once: a hostile tree holds itself, or makes exponentially
// many of a few.
class TreeWalker {
 public:
  TreeWalker(const Pickle& tree, const ShardReader& reader, std::vector<PackedFolder::File>& files,
             std::vector<std::string>& folders)
      : tree_(tree),
        reader_(reader),
        files_(files),
        folders_(folders),
        is_taken_(static_cast<size_t>(reader.num_records())) {}

  void walk(Pickle::Ref folder, const std::string& prefix) {
    if (!met_.insert(folder).second) {
      corrupt(fmt::format("the folder '{}' appears twice", prefix));
    }
    for (const auto& [key, value] : tree_.entries(folder, fmt::format("the folder '{}'", prefix))) {
      const std::string_view name = tree_.text(key, "a name");
      if (!is_plain_name(name))
        corrupt(fmt::format("'{:.100}' in '{}' is not a file name", name, prefix));
      if (prefix.size() + name.size() > kMaxPathBytes) {
        corrupt(fmt::format("the path '{:.100}...' is too long", prefix));
      }
      std::string path = prefix + std::string(name);
      if (tree_.kind(value) == Pickle::Kind::dict) {
        folders_.push_back(path);
        walk(value, path + "/");
      } else {
        add_file(std::move(path), tree_.integer(value, fmt::format("'{}'", path)));
      }
    }
  }

 private:
  void add_file(std::string path, int64_t record) {
    if (record < 0 || record >= reader_.num_records() - 1) {
      corrupt(
          fmt::format("the file '{}' has the record number {}, but only {} records belong to files",
                      path, record, reader_.num_records() - 1));
    }
    if (is_taken_[static_cast<size_t>(record)]) {
      corrupt(fmt::format(
          "the file '{}' has the record number {}, but this record belongs to another file", path,
          record));
    }
    is_taken_[static_cast<size_t>(record)] = true;
    files_.push_back({std::move(path), record, reader_.locate(record).stored_bytes});
  }

  [[noreturn]] void corrupt(const std::string& message) const {
    throw error_at(reader_.path(), ErrorCode::corrupt,
                   "the tree of the packed folder is broken: " + message);
  }

  const Pickle& tree_;
  const ShardReader& reader_;
  std::vector<PackedFolder::File>& files_;
  std::vector<std::string>& folders_;
  std::vector<bool> is_taken_;
  std::unordered_set<Pickle::Ref> met_;  // folders
};

// Files of any length are listed; read() looks at the limit.
ShardReader open_raw(const std::filesystem::path& path, ShardReaderOptions options) {
  options.max_record_bytes = std::numeric_limits<int64_t>::max();
  std::shared_ptr<const RandomReader> file = open_random_reader(path);
  if (!looks_like_v1(*file)) {
    throw error_at(path, ErrorCode::corrupt, "the file is not an FFRecord v1 file");
  }
  return errors_only(path, [&] {
    return reader_of(
        open_v1_file(std::move(file), {.reader = options, .payload = raw_v1_payload()}), options);
  });
}

}  // namespace

bool PackedFolder::is_packed_folder(const std::filesystem::path& path) {
  if (!errors_only(path, [&] { return std::filesystem::is_regular_file(path); }) ||
      !looks_like_v1(*open_random_reader(path))) {
    return false;
  }
  try {
    const ShardReader reader = open_raw(path, {});
    if (reader.num_records() == 0) return false;
    const RecordLocation last = reader.locate(reader.num_records() - 1);
    std::vector<std::byte> begin(
        std::min<size_t>(kPackedFolderMagic.size() + 1, static_cast<size_t>(last.stored_bytes)));
    open_random_reader(path)->read_at(last.offset, begin);
    return has_magic(begin);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::corrupt)
      return false;  // opening it as a data set says what is wrong
    throw;
  }
}

PackedFolder::PackedFolder(const std::filesystem::path& path, const ShardReaderOptions& options)
    : max_file_bytes_(options.max_record_bytes), reader_(open_raw(path, options)) {
  std::vector<std::byte> record;
  std::span<const std::byte> tree;
  if (const int64_t num_records = reader_.num_records(); num_records > 0) {
    require_record_fits(reader_.locate(num_records - 1), num_records - 1, path, options);
    reader_.read(num_records - 1, record);
    tree = RecordView(reader_.schema(), record).bytes(0);
  }
  if (!has_magic(tree)) {
    throw error_at(path, ErrorCode::corrupt,
                   "the file is not a packed folder: its last record is not the tree of a folder");
  }
  try {
    errors_only(path, [&] {
      Pickle pickle;
      pickle.parse(tree.subspan(kPackedFolderMagic.size()));
      TreeWalker(pickle, reader_, files_, folders_).walk(pickle.root(), "");
    });
  } catch (const Error& e) {
    if (!e.context().path.empty()) throw;
    throw e.within({.path = path.string()});
  }
}

size_t PackedFolder::find(const std::string& path) const {
  const auto found = std::ranges::find(files_, path, &File::path);
  if (found == files_.end()) {
    throw error_at(reader_.path(), ErrorCode::not_found, "the packed folder has no file '{}'",
                   path);
  }
  return static_cast<size_t>(found - files_.begin());
}

void PackedFolder::read(size_t i, std::vector<std::byte>& out) const {
  if (i >= files_.size()) {
    throw error_at(reader_.path(), ErrorCode::invalid_argument,
                   "there is no file {}; the packed folder has {} files", i, files_.size());
  }
  const File& file = files_[i];
  require_record_fits(reader_.locate(file.record), file.record, reader_.path(),
                      {.max_record_bytes = max_file_bytes_});
  reader_.read(file.record, out);
  const auto content = RecordView(reader_.schema(), out).bytes(0);
  std::memmove(out.data(), content.data(), content.size());
  out.resize(content.size());
}

}  // namespace ffkit
