#include "output/store_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include <ffkit/format/dataset.h>
#include <ffkit/format/unfinished.h>

#include "format/make_error.h"
#include "output/store_claim.h"
#include "storage/reader/places.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

std::string_view name_behind_slash(const std::string& address) {
  return std::string_view(address).substr(address.find_last_of('/') + 1);
}

}  // namespace

fs::path folder_of_part(const fs::path& data_set, const ConvertPart& part) {
  return data_set / fmt::format("{}{}-of-{}", kPartPrefix, part.index, part.count);
}

void require_parts(const fs::path& data_set, const Listing& there, bool has_marker) {
  if (has_marker) {
    if (read_unfinished_marker(data_set).kind == kParts) return;
    throw error_at(data_set, ErrorCode::invalid_argument,
                   "holds an unfinished data set that is not made in parts; finish it, remove it "
                   "or give another folder");
  }
  const bool has_nothing_else =
      std::ranges::all_of(there.folders,
                          [](const std::string& folder) {
                            return name_behind_slash(folder).starts_with(kPartPrefix);
                          }) &&
      std::ranges::all_of(there.objects, [](const ListedObject& object) {
        return StoreClaim::is_claim(std::string(name_behind_slash(object.address)));
      });
  if (has_nothing_else) return;
  const std::vector<std::string> splits = list_splits(data_set);
  throw error_at(data_set, ErrorCode::invalid_argument,
                 splits.empty() ? "the folder is not empty; give a new or an empty one"
                                : fmt::format("already holds a data set (split '{}'); remove it or "
                                              "give another folder",
                                              splits.front()));
}

void begin_parts(const fs::path& data_set, const ConvertPart& part, const std::string& plan) {
  const std::string text = to_text({.kind = kParts,
                                    .plan = fmt::format("{} in {} parts", plan, part.count),
                                    .command = "ffconvert merge " + data_set.string()});
  if (write_object_once(data_set / kUnfinishedMarker, text)) return;
  throw error_at(data_set, ErrorCode::invalid_argument,
                 "holds parts of another conversion: the source, an option or the number of parts "
                 "differs; give those of the other parts, or another folder");
}

std::vector<PartThere> list_parts(const fs::path& data_set) {
  std::vector<PartThere> parts;
  for (const std::string& name : names_in_folder(data_set).folders) {
    if (!name.starts_with(kPartPrefix)) continue;
    const fs::path folder = data_set / name;
    const bool is_marked = is_file_at(folder / kUnfinishedMarker);
    // A folder of file:// may be empty; one with a claim alone is of a part that begins.
    if (!is_marked && names_in_folder(folder).files.empty()) continue;
    const UnfinishedMarker marker = is_marked ? read_unfinished_marker(folder) : UnfinishedMarker();
    PartThere& part = parts.emplace_back();
    part.folder = folder;
    part.is_finished = marker.kind == kFinishedPart;
    part.command = marker.command;
    part.splits = list_splits(part.folder);
  }
  return parts;
}

}  // namespace ffkit
