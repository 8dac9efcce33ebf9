#include <fmt/format.h>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/format/dataset.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "input/grouped_source.h"
#include "storage/addresses/place.h"

namespace ffkit {

KindConversion::KindConversion(const SourceKind& kind) : kind_(kind), own_(kind.options()) {
  own_->describe(table_);
  describe(images_, kind.pictures, kind.takes_exif, table_);
  describe(options_, table_);
  if (!own_->keeps_order()) return;
  // Not offered; still known, since check() says why they are refused.
  for (const char* name : {"order", "on-error", "only"}) table_.find(name)->is_offered = false;
}

void KindConversion::check() {
  validate(options_, table_);
  validate(images_, table_);
  if (images_.exif == ExifUse::apply && !kind_.takes_exif) {
    throw argument_error(
        "exif", fmt::format("pictures of '{}' are stored as they are in their files; leave {} out",
                            kind_.name, option_name("exif")));
  }
  // Pictures that come as pixels may become JPEGs, but no source here has such.
  if (!manifest_options(images_).contains("jpeg_quality")) {
    table_.refuse(
        {"jpeg-quality"},
        fmt::format("serves only pictures that are re-encoded as JPEG; give {}, {}, {} or {} as "
                    "well",
                    option_name("max_resolution"), option_name("short_side"), option_on("fix_odd"),
                    option_set("exif", "apply")));
  }
  own_->check(table_);
  if (!own_->keeps_order()) return;
  constexpr const char* kWhy = "its records refer to each other by number";
  if (table_.is_given("order") && options_.order == RecordOrder::shuffled) {
    throw argument_error("order", fmt::format("{}: {}; training shuffles them when it reads",
                                              option_set("order", "shuffled"), kWhy));
  }
  if (options_.on_error != OnError::fail) {
    throw argument_error(
        "on_error", fmt::format("{}: {}, so none can be left out{}", option_name("on_error"), kWhy,
                                table_.find("allow-partial") == nullptr
                                    ? ""
                                    : fmt::format("; see {}", option_name("allow_partial"))));
  }
  if (!options_.only.empty() || options_.only_ids) {
    throw argument_error("only",
                         fmt::format("{}: {}, so none can be left out", option_name("only"), kWhy));
  }
  options_.order = RecordOrder::source;
}

std::unique_ptr<Source> KindConversion::open(const std::filesystem::path& path,
                                             const std::filesystem::path& destination,
                                             bool is_dry_run) const {
  // What is no address and no path says what it is: "az://container", "s3:/bucket".
  if (is_local(path) && !std::filesystem::exists(path)) require_local(path);
  SourceArguments arguments{.path = Place(path).path(),
                            .conversion = options_,
                            .is_dry_run = is_dry_run,
                            .temporary_folder = destination,
                            .images = images_};
  if (!options_.by_files) return own_->open(arguments);
  std::optional<FileListing> listing = own_->list_files(arguments);
  if (!listing) {
    throw argument_error("by_files",
                         fmt::format("'{}' is not converted by groups of files; leave {} out",
                                     kind_.name, option_name("by_files")));
  }
  const auto open_group = [this, arguments](const GroupOfFiles& group) {
    SourceArguments of_group = arguments;
    of_group.group = &group;
    std::unique_ptr<Source> source = own_->open(of_group);
    require_as_listed(group.files);
    return source;
  };
  return std::make_unique<GroupedSource>(arguments.path, *std::move(listing), open_group, options_);
}

}  // namespace ffkit
