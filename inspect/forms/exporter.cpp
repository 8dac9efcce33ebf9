#include "forms/exporter.h"

#include <limits>

#include "base/make_error.h"
#include "export/files_export.h"

namespace ffkit {
namespace {

bool is_of_files(ExportForm form) {
  return form == ExportForm::files || form == ExportForm::imagefolder;
}

int64_t shard_bytes_of(const ExportChoice& choice) {
  constexpr int64_t kMaxMdsBytes = std::numeric_limits<uint32_t>::max();
  if (choice.shard_bytes > 0 && is_of_files(choice.form)) {
    throw argument_error("shard_size", "--shard-size is for webdataset and mds only; leave it out");
  }
  if (choice.form == ExportForm::mds && choice.shard_bytes > kMaxMdsBytes) {
    throw argument_error("shard_size",
                         "--shard-size must be below 4 GiB for MDS, whose offsets have 32 bits");
  }
  if (choice.shard_bytes > 0) return choice.shard_bytes;
  return choice.form == ExportForm::mds ? 64LL << 20 : 256LL << 20;
}

// Before anything is written.
void require_exportable(const ExportSource& source, ExportForm form) {
  if (is_of_files(form)) {
    const ExportNames names(source);
  }
  require_safe_path(source, source.split(), "the name of the split");
  if (form == ExportForm::imagefolder && !is_classification_schema(source.schema())) {
    throw dataset_error(
        source.dataset().path(), ErrorCode::invalid_argument,
        "is not a data set for image classification (an image, an integer 'label' and "
        "at most a string 'id'); choose these fields with --fields, or export with "
        "--as files, webdataset or mds");
  }
  if (form == ExportForm::mds) require_mds(source);
}

ExportedSplit export_split(const ExportSource& source, const std::filesystem::path& folder,
                           ExportForm form, int64_t shard_bytes) {
  if (form == ExportForm::webdataset) return export_webdataset(source, folder, shard_bytes);
  if (form == ExportForm::mds) return export_mds(source, folder, shard_bytes);
  return export_files(source, folder);
}

}  // namespace

Exported export_splits(const std::vector<Dataset>& splits, const std::filesystem::path& destination,
                       const ExportChoice& choice) {
  const int64_t shard_bytes = shard_bytes_of(choice);
  std::vector<ExportSource> sources;
  sources.reserve(splits.size());
  for (const Dataset& dataset : splits) {
    sources.emplace_back(dataset, choice.fields);
    require_exportable(sources.back(), choice.form);
  }
  Exported exported;
  make_tree(destination, [&](const std::filesystem::path& folder) {
    for (const ExportSource& source : sources) {
      exported.splits.push_back(export_split(source, folder, choice.form, shard_bytes));
    }
    if (is_of_files(choice.form)) {
      write_class_folders(folder, exported);
    } else {
      write_class_files(splits, folder, exported);
    }
  });
  return exported;
}

}  // namespace ffkit
