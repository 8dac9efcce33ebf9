#include "export/files_export.h"

#include <atomic>
#include <utility>
#include <vector>

#include "export/block_pipeline.h"
#include "export/export_names.h"
#include "text/output.h"

namespace ffkit {

ExportedSplit export_files(const ExportSource& source, const std::filesystem::path& destination) {
  using Files = std::vector<ExportFile>;
  const Dataset& dataset = source.dataset();
  ExportNames names(source);
  ExportedSplit result{.split = source.split(), .num_records = dataset.num_records()};
  ProgressLine progress(result.split, dataset.manifest().file_bytes());
  std::atomic<int64_t> num_bytes = 0;
  export_records<Files>(source, progress,
                        {.make = [](int64_t, const RecordView&) { return Files(); },
                         // In order, so that of two equal names always the same one is changed.
                         .place =
                             [&](int64_t number, const RecordView& record, Files& files) {
                               files = names.next(number, record);
                               result.num_files += std::ssize(files);
                               if (files.empty()) ++result.num_skipped;
                             },
                         .write =
                             [&](int64_t, Files& files) {
                               for (const ExportFile& file : files) {
                                 const std::filesystem::path path = destination / file.path;
                                 make_folder(path.parent_path());
                                 auto data = file.content.owned.empty()
                                                 ? file.content.data
                                                 : std::as_bytes(std::span(file.content.owned));
                                 std::vector<std::byte> jpeg;
                                 if (file.content.is_image) data = image_file(data, jpeg);
                                 write_new_file(path, data);
                                 num_bytes += std::ssize(data);
                               }
                             }});
  result.num_bytes = num_bytes;
  result.renamed = names.renamed();
  return result;
}

}  // namespace ffkit
