#include "parquet/parquet_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "files/file_group.h"
#include "format/content_kind.h"
#include "parquet/partitions.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// "train-00000" for "train-00000.parquet".
std::optional<std::string> parquet_stem(const std::string& name) {
  for (const char* ending : {".parquet", ".parq", ".pq"}) {
    if (auto stem = names_ending_in(ending).stem(name)) return stem;
  }
  return std::nullopt;
}

// What a file that cannot be read is, where its first bytes tell.
void refuse_other_content(const fs::path& path) {
  const InputFile file(path);
  std::array<std::byte, kContentHeadBytes> head{};
  const auto there =
      std::span(head).first(static_cast<size_t>(std::min<int64_t>(file.size(), head.size())));
  file.read_at(0, there);
  const ContentKind kind = content_kind(there);
  if (kind == ContentKind::unknown || kind == ContentKind::parquet) return;
  const std::string remedy = content_remedy(kind);
  throw source_error(path, ErrorCode::unsupported, "is {}, and no parquet file{}",
                     content_name(kind), remedy.empty() ? "" : "; " + remedy);
}

}  // namespace

ShardListing list_parquet_files(const fs::path& path) {
  const ShardNames names{.stem = parquet_stem,
                         .noun = "parquet files (*.parquet)",
                         .example = "train/*.parquet",
                         .hides_underscores = true};
  ShardListing listing;
  if (auto partitioned = find_partitioned_shards(path, names)) {
    listing = std::move(*partitioned);
  } else {
    listing = find_shards(path, names);
  }
  if (!is_brace_list(path) && is_folder_at(path) && is_folder_at(path / "_delta_log")) {
    listing.notes.push_back(
        fmt::format("{}: is a table of Delta Lake, whose log is not read: files that the table no "
                    "longer counts are taken, too, until VACUUM removes them",
                    shown_place(path)));
  }
  return listing;
}

ParquetHead read_parquet_head(const fs::path& path) {
  try {
    std::error_code error;
    ParquetHead head{.stamp = stamp_of(path, error)};
    const std::unique_ptr<ArrowFile> file = open_parquet_file(path);
    const ArrowOwner<ArrowSchema> schema = file->schema();
    head.columns = arrow_columns(*schema.get());
    head.groups = file->groups();
    return head;
  } catch (const Error& error) {
    if (!error.context().path.empty()) throw;
    if (error.code() == ErrorCode::corrupt) refuse_other_content(path);
    throw error.within({.path = shown_place(path), .subject = ErrorSubject::source});
  }
}

namespace {

auto find_column(const std::vector<ArrowColumn>& columns, const std::string& name) {
  return std::ranges::find_if(
      columns, [&](const ArrowColumn& column) { return column.column.field.name == name; });
}

}  // namespace

void settle_as(const FoundParquet& found, ParquetColumns& columns) {
  for (size_t i = columns.columns().size(); i-- > 0;) {
    const std::string name = columns.columns()[i].column.field.name;
    const auto settled = find_column(found.settled, name);
    if (settled != found.settled.end()) {
      columns.columns()[i].column = settled->column;
      columns.columns()[i].empty_shape = settled->empty_shape;
    } else if (find_column(found.columns, name) != found.columns.end()) {
      columns.erase(i);
    }
  }
}

FileListing list_parquet_source(const std::filesystem::path& path) {
  FileListing files = file_listing(list_parquet_files(path));
  FoundParquet found;
  for (const FilesOfSplit& split : files.splits) {
    for (const SourceFile& file : split.files) {
      for (const PartitionValue& one : partition_values(path, file.path)) {
        if (one.value) found.partitions[one.key].insert(*one.value);
      }
    }
  }
  files.found = std::move(found);
  return files;
}

}  // namespace ffkit
