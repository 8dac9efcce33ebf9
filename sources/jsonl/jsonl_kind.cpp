#include <memory>
#include <optional>

#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/jsonl.h>

namespace ffkit {

void describe(JsonlOptions& options, OptionTable& table) {
  table.add_choice("token-dtype", options.token_dtype, parse_dtype, {"u16", "i32", "i64"},
                   "Data type for arrays of integers");
  table.add_choice("real-dtype", options.real_dtype, parse_dtype, {"f64", "f32"},
                   "Data type for arrays of numbers that are not whole");
  table
      .add("max-line-bytes", options.max_line_bytes,
           "Longest line; a longer one counts as bad. Parsing takes up to ten times its bytes in "
           "each thread")
      .set_size()
      .set_range(1 << 10, 0xFFFFFFFF);
}

namespace {

class JsonlKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override { ffkit::describe(options_, table); }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    JsonlOptions options = options_;
    options.temporary_folder = arguments.temporary_folder;
    options.num_threads = arguments.conversion.num_threads;
    options.cancel = arguments.conversion.cancel;
    options.group = arguments.group;
    return open_jsonl(arguments.path, options);
  }

  std::optional<FileListing> list_files(const SourceArguments& arguments) const override {
    return jsonl_files(arguments.path, options_);
  }

 private:
  JsonlOptions options_;
};

}  // namespace

SourceKind jsonl_kind() {
  return {.name = "jsonl",
          .description =
              "JSON lines: texts, numbers and tokens, compressed or not; one file, or a "
              "folder of files",
          .example = "/data/tokens /fast/tokens --token-dtype u16",
          .options = make_source_options<JsonlKind>,
          .place = 60};
}

}  // namespace ffkit
