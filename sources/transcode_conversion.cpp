#include <utility>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/sources/registry.h>
#include <ffkit/sources/transcode.h>

#include "base/make_error.h"

namespace ffkit {

TranscodeConversion::TranscodeConversion() {
  describe(images_, PictureUse::store, false, table_);
  describe(options_, table_);
  table_.find("store")->set_default("none: say which");
  table_.find("shard-size")->set_default("the shards of SRC");
  table_.find("zstd")->set_default("as SRC");
  // Not offered; still known, to say why they are refused.
  for (const char* name : {"order", "seed", "read", "by-files"})
    table_.find(name)->is_offered = false;
}

void TranscodeConversion::check() {
  table_.refuse({"order", "seed", "read"},
                "has no effect: the records keep the order of SRC; leave it out");
  table_.refuse({"by-files"},
                "has no effect: the list of a data set's records is short; leave it out");
  if (!table_.is_given("store")) {
    throw argument_error("store",
                         "say what pictures become, by " + option_name("store") + ": jpeg or dct");
  }
  options_.order = RecordOrder::source;
  validate(options_, table_);
}

std::unique_ptr<Source> TranscodeConversion::open(const std::filesystem::path& path) {
  std::vector<Dataset> splits = open_splits(path, {.max_record_bytes = options_.max_record_bytes});
  if (!table_.is_given("zstd")) take_over_compression(splits, options_);
  return open_transcoded(std::move(splits),
                         {.store = images_.store, .keeps_shards = !table_.is_given("shard-size")});
}

}  // namespace ffkit
