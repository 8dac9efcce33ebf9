#include "export/packed.h"

#include <fmt/format.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include <ffkit/format/packed_folder.h>

#include "base/make_error.h"
#include "base/readable_numbers.h"
#include "export/new_tree.h"
#include "text/output.h"

namespace ffkit {

bool is_packed(const Target& target) {
  if (!PackedFolder::is_packed_folder(target.path)) return false;
  if (!target.split.empty() || !target.where.empty() || !target.indices.empty()) {
    throw error_at(target.path, ErrorCode::invalid_argument,
                   "is a packed folder, of which --split, --where and --indices cannot choose");
  }
  return true;
}

void list_packed(const Target& target, int64_t first, int64_t limit) {
  const PackedFolder folder(target.path, target.reader);
  if (!target.json) fmt::print("file\trecord\tbytes\n");
  const int64_t count = std::ssize(folder.files());
  const int64_t begin = std::min(first, count);
  const int64_t end = begin + std::min(limit, count - begin);
  for (int64_t i = begin; i < end; ++i) {
    const PackedFolder::File& file = folder.files()[i];
    if (target.json) {
      print_json_line(
          {{"path", file.path}, {"record", file.record}, {"num_bytes", file.num_bytes}});
    } else {
      fmt::print("{}\t{}\t{}\n", escaped(file.path), file.record, file.num_bytes);
    }
  }
}

void export_packed(const Target& target, const std::string& destination) {
  const PackedFolder folder(target.path, target.reader);
  int64_t num_bytes = 0;
  make_tree(destination, [&](const std::filesystem::path& out) {
    for (const std::string& name : folder.folders()) make_folder(out / name);
    std::vector<std::byte> content;
    for (size_t i = 0; i < folder.files().size(); ++i) {
      throw_if_stopped();
      folder.read(i, content);
      write_new_file(out / folder.files()[i].path, content);
      num_bytes += std::ssize(content);
    }
  });
  if (target.json) {
    print_json({{"output", destination},
                {"num_files", folder.files().size()},
                {"num_folders", folder.folders().size()},
                {"num_bytes", num_bytes}});
  } else {
    fmt::print("{} files in {} folders to {}, {}\n", with_commas(std::ssize(folder.files())),
               with_commas(std::ssize(folder.folders())), destination, human_bytes(num_bytes));
  }
}

}  // namespace ffkit
