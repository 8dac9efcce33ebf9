#include "parquet/parquet_listing.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "arrow/row_batches.h"
#include "converter/input/input_file.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

// "train-00000" for "train-00000.parquet".
std::optional<std::string> parquet_stem(const std::string& name) {
  for (const char* ending : {".parquet", ".parq", ".pq", ".arrow", ".feather"}) {
    if (auto stem = names_ending_in(ending).stem(name)) return stem;
  }
  return std::nullopt;
}

// What a file that cannot be read is, where its first bytes tell.
void refuse_other_content(const fs::path& path) {
  const ContentKind kind = content_kind(InputFile(path).head());
  if (kind == ContentKind::unknown || kind == ContentKind::parquet) return;
  if (kind == ContentKind::arrow) {
    throw source_error(path, ErrorCode::unsupported,
                       "is an Arrow file, not a parquet file; give it a name that ends in .arrow");
  }
  const std::string remedy = content_remedy(kind);
  throw source_error(path, ErrorCode::unsupported, "is {}, not a parquet file{}",
                     content_name(kind), remedy.empty() ? "" : "; " + remedy);
}

// state.json in a folder that save_to_disk() of Hugging Face's datasets wrote; null in others.
nlohmann::json saved_state(const fs::path& folder) {
  const fs::path file = folder / "state.json";
  if (Place(folder).is_in_store() ? !has_file_at(file) : !exists_at(file)) return {};
  const auto state =
      nlohmann::json::parse(read_source_text(file), nullptr, /*allow_exceptions=*/false);
  const auto is_list = [&](const char* key) {
    return state.contains(key) && state[key].is_array();
  };
  return state.is_object() && is_list("_data_files") ? state : nlohmann::json();
}

// Of such folders: the files that are listed there, in their order. Others are what map() and
// filter() have kept.
void take_saved_files(const fs::path& path, ShardListing& listing) {
  if (is_brace_list(path) || !is_folder_at(path)) return;
  size_t num_others = 0;
  for (ShardSplit& split : listing.splits) {
    const fs::path folder = split.files.front().parent_path();
    const nlohmann::json state = saved_state(folder);
    if (state.is_null()) continue;
    std::vector<fs::path> files;
    for (const nlohmann::json& one : state["_data_files"]) {
      const std::string name = one.is_object() ? one.value("filename", std::string()) : "";
      const auto found = std::ranges::find(split.files, folder / name);
      if (found == split.files.end()) {
        throw source_error(folder / name, ErrorCode::not_found,
                           "is missing, but state.json names it; copy the folder again");
      }
      files.push_back(*found);
    }
    if (files.empty()) continue;
    num_others += split.files.size() - files.size();
    split.files = std::move(files);
    if (folder != path || !state.contains("_split") || !state["_split"].is_string()) continue;
    const std::string name = split_called(state["_split"].get<std::string>());
    if (!name.empty()) split = {name, name.starts_with("train"), std::move(split.files)};
  }
  if (num_others == 0) return;
  add_note(listing.notes, shown_place(path),
           "{} files were left out: state.json does not name them", num_others);
}

// An Arrow table says how many rows it has in its batches alone.
RowGroup group_of_table(ArrowFile& file, int64_t num_bytes) {
  RowGroup group{.num_bytes = num_bytes};
  ArrowOwner<ArrowArrayStream> stream = file.read(0, {}, 1);
  while (const ArrowOwner<ArrowArray> batch = next_batch(file.format(), *stream.get())) {
    group.num_rows += batch->length;
  }
  return group;
}

auto find_column(const std::vector<ArrowColumn>& columns, const std::string& name) {
  return std::ranges::find_if(
      columns, [&](const ArrowColumn& column) { return column.column.field.name == name; });
}

}  // namespace

ShardListing list_parquet_files(const fs::path& path) {
  const ShardNames names{.stem = parquet_stem,
                         .noun = "parquet files (*.parquet) or Arrow files (*.arrow)",
                         .example = "train/*.parquet",
                         .hides_underscores = true};
  ShardListing listing;
  if (auto partitioned = find_partitioned_shards(path, names)) {
    listing = std::move(*partitioned);
  } else {
    listing = find_shards(path, names);
  }
  take_saved_files(path, listing);
  if (!is_brace_list(path) && is_folder_at(path) && is_folder_at(path / "_delta_log")) {
    add_note(listing.notes, shown_place(path),
             "is a table of Delta Lake, but ffkit does not read its log: files that the table no "
             "longer uses are converted too, until VACUUM removes them");
  }
  return listing;
}

ParquetHead read_parquet_head(const fs::path& path) {
  try {
    std::error_code error;
    ParquetHead head{.stamp = stamp_of(path, error)};
    const std::unique_ptr<ArrowFile> file = open_table_file(path);
    const ArrowOwner<ArrowSchema> schema = file->schema();
    head.columns = arrow_columns(*schema.get());
    head.groups = file->groups();
    if (file->format() == ArrowFormat::ipc) {
      head.groups = {group_of_table(*file, head.stamp.num_bytes)};
    }
    return head;
  } catch (const Error& error) {
    if (!error.context().path.empty()) throw;
    if (error.code() == ErrorCode::corrupt) refuse_other_content(path);
    throw error.within({.path = shown_place(path), .subject = ErrorSubject::source});
  }
}

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

FileListing list_parquet_source(const fs::path& path) {
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
