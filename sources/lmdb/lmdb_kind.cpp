#include <memory>

#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/row_sources.h>

namespace ffkit {

void describe(LmdbOptions& options, OptionTable& table) {
  table.add_choice("value", options.value, parse_lmdb_value,
                   {"auto", "picture", "datum", "bytes", "text"},
                   "What the values are. picture: files of pictures; datum: Caffe's messages; "
                   "bytes, text: as they are; auto: pictures or Datum messages where half or more "
                   "are, else bytes");
  table.add("rgb", options.is_rgb,
            "Pixels in Datum messages are planes of red, green, blue, not of blue, green, red");
  table.add("database", options.database, "The named database that is taken, where a file has some")
      .set_default("the only one");
  describe(options.rows, table);
}

namespace {

class LmdbKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override { ffkit::describe(options_, table); }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    LmdbOptions options = options_;
    options.rows.store = arguments.images.store;
    options.rows.exif = arguments.images.exif;
    options.rows.num_threads = arguments.conversion.num_threads;
    options.rows.temporary_folder = arguments.temporary_folder;
    options.rows.cancel = arguments.conversion.cancel;
    return open_lmdb(arguments.path, options);
  }

 private:
  LmdbOptions options_;
};

}  // namespace

SourceKind lmdb_kind() {
  return {
      .name = "lmdb",
      .description = "LMDB: pictures by key, as LSUN has them, Datum messages of Caffe, or bytes",
      .example = "/data/lsun /fast/lsun",
      .options = make_source_options<LmdbKind>,
      .pictures = PictureUse::store,
      .takes_exif = true,
      .place = 58};
}

}  // namespace ffkit
