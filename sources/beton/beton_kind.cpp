#include <algorithm>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/image/image_codec.h>

#include "archives/parallel_io.h"
#include "base/printable.h"
#include "beton/beton_file.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/shard_files.h"
#include "rows/file_rows.h"
#include "rows/row_source.h"

namespace ffkit {
namespace {

// FFCV names no ending; its pages and its ImageNet scripts have these two.
ShardNames beton_names() {
  const ShardNames beton = names_ending_in(".beton");
  const ShardNames ffcv = names_ending_in(".ffcv");
  return {.stem =
              [beton, ffcv](const std::string& name) {
                std::optional<std::string> stem = beton.stem(name);
                return stem ? stem : ffcv.stem(name);
              },
          .noun = ".beton or .ffcv files",
          .example = "train.beton"};
}

bool has_bytes(BetonType type) {
  return type != BetonType::real && type != BetonType::integer;
}

class BetonRows final : public FileRows {
 public:
  BetonRows(const fs::path& path, const RowOptions& options) : FileRows("beton", path, options) {
    ShardListing listing = find_shards(path, beton_names());
    notes_ = std::move(listing.notes);
    for (ShardSplit& split : listing.splits) {
      const size_t num_files = split.files.size();
      const size_t number =
          add_split(split.name, split.is_training, FileGroup(std::move(split.files)));
      open_files(number, num_files);
    }
    require_equal_fields();
    add_columns();
    for (size_t split = 0; split < files_.size(); ++split) {
      for (const BetonFile& file : files_[split]) add_rows(split, ranges_of(file));
    }
    note_pictures();
  }

  void read(size_t split, int64_t row, std::span<RowValue> values,
            SampleBuffers& buffers) const override {
    const Place place = place_of(split, row);
    const BetonFile& file = files_[split][place.file];
    const std::vector<BetonField>& fields = file.fields();
    int64_t num_bytes = 0;
    for (size_t i = 0; i < fields.size(); ++i) {
      try {
        const BetonValue value = file.value(place.row, i);
        num_bytes += value.data.num_bytes;
        if (num_bytes > this->options().max_sample_bytes) {
          throw error_of(ErrorCode::unsupported,
                         "the sample has more than {} bytes, which is the limit; remove the "
                         "sample, or raise the limit with {}",
                         this->options().max_sample_bytes, option_name("max_sample_bytes"));
        }
        set_value(split, place.file, fields[i], value, values[i], buffers);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::io) throw;
        throw error.with_message(
            fmt::format("column '{}': {}", columns_[i].field.name, error.message()));
      }
    }
  }

 private:
  void open_files(size_t split, size_t num_files) {
    std::vector<std::optional<BetonFile>> opened(num_files);
    parallel_io_that_throws(num_files, [&](size_t i) {
      const auto read = [&](int64_t offset, std::span<std::byte> out) {
        read_file(split, i, offset, out);
      };
      opened[i].emplace(files(split).paths()[i], file_bytes(split, i), read);
    });
    std::vector<BetonFile>& files = files_.emplace_back();
    for (std::optional<BetonFile>& file : opened) files.push_back(std::move(*file));
  }

  void require_equal_fields() const {
    const BetonFile& first = files_[0][0];
    for (size_t split = 0; split < files_.size(); ++split) {
      for (size_t i = 0; i < files_[split].size(); ++i) {
        if (files_[split][i].fields() == first.fields()) continue;
        throw source_error(
            files(split).paths()[i], ErrorCode::unsupported,
            "the file does not have the same fields as {}; convert the files separately",
            files(0).paths()[0].string());
      }
    }
  }

  void add_columns() {
    struct Column {
      FieldType type;
      DType dtype = DType::u8;
    };
    constexpr Column kColumns[] = {{FieldType::scalar, DType::f64},  // in BetonType's order
                                   {FieldType::scalar, DType::i64},
                                   {FieldType::image},
                                   {FieldType::bytes},
                                   {FieldType::tensor},
                                   {FieldType::string},
                                   {FieldType::tensor}};
    for (const BetonField& field : files_[0][0].fields()) {
      const auto [type, dtype] = kColumns[static_cast<size_t>(field.type)];
      columns_.push_back({.field = {unused_name(utf8_of(field.name)), type,
                                    type == FieldType::tensor ? field.dtype : dtype}});
    }
  }

  // FFCV cuts names to 16 bytes, and then two may be equal.
  std::string unused_name(const std::string& name) {
    const auto is_used = [&](const std::string& candidate) {
      return candidate.empty() || std::ranges::any_of(columns_, [&](const RowColumn& column) {
               return column.field.name == candidate;
             });
    };
    if (!is_used(name)) return name;
    std::string found;
    for (int number = 2; is_used(found); ++number) {
      found = fmt::format("{}_{}", name.empty() ? "field" : name, number);
    }
    note("field number {} gets the name '{}', because {}", columns_.size() + 1, found,
         name.empty() ? "it has no name" : "another field has its name");
    return found;
  }

  // From the first of a sample's bytes to the last: FFCV writes them side by side. What is damaged
  // is told when it is read.
  std::vector<FileRange> ranges_of(const BetonFile& file) {
    std::vector<FileRange> ranges;
    ranges.reserve(static_cast<size_t>(file.num_samples()));
    for (int64_t sample = 0; sample < file.num_samples(); ++sample) {
      FileRange all;
      for (size_t i = 0; i < file.fields().size(); ++i) {
        if (!has_bytes(file.fields()[i].type)) continue;
        try {
          const BetonValue value = file.value(sample, i);
          num_raw_ += value.is_raw ? 1 : 0;
          extend(all, value.data);
        } catch (const Error&) {
          ++num_damaged_;
        }
      }
      ranges.push_back(all);
    }
    return ranges;
  }

  static void extend(FileRange& all, const FileRange& range) {
    if (range.num_bytes == 0) return;
    if (all.num_bytes == 0) {
      all = range;
      return;
    }
    const int64_t end = std::max(all.offset + all.num_bytes, range.offset + range.num_bytes);
    all.offset = std::min(all.offset, range.offset);
    all.num_bytes = end - all.offset;
  }

  void note_pictures() {
    if (num_raw_ > 0) {
      note("{} picture{} stored as PPM, without loss and with the same size", num_raw_,
           num_raw_ == 1 ? " has raw pixels and is" : "s have raw pixels and are");
    }
    if (num_damaged_ > 0) {
      note("{} value{} damaged; samples with damaged values are bad samples", num_damaged_,
           num_damaged_ == 1 ? " is" : "s are");
    }
  }

  void set_value(size_t split, size_t number, const BetonField& field, const BetonValue& value,
                 RowValue& out, SampleBuffers& buffers) const {
    if (field.type == BetonType::real || field.type == BetonType::integer) {
      return out.set_scalar(value.bits);
    }
    const std::span<std::byte> bytes = buffers.bytes(static_cast<size_t>(value.data.num_bytes));
    read_file(split, number, value.data.offset, bytes);
    switch (field.type) {
      case BetonType::array:
      case BetonType::tensor:
        return out.set_tensor({field.dtype, field.shape, bytes});
      case BetonType::json: {
        // The writer puts a zero behind the text.
        const auto end = std::ranges::find(bytes, std::byte{0});
        return out.set_bytes(bytes.first(static_cast<size_t>(end - bytes.begin())));
      }
      case BetonType::image:
        if (value.is_raw) {
          std::vector<std::byte>& ppm = buffers.array();
          encode_ppm({.data = reinterpret_cast<const uint8_t*>(bytes.data()),
                      .width = value.width,
                      .height = value.height,
                      .stride = 3 * value.width},
                     ppm);
          return out.set_bytes(ppm);
        }
        return out.set_bytes(bytes);
      default:
        return out.set_bytes(bytes);
    }
  }

  std::vector<std::vector<BetonFile>> files_;  // by split
  int64_t num_raw_ = 0;
  int64_t num_damaged_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_beton(const fs::path& path, const RowOptions& options) {
  return make_row_source(std::make_unique<BetonRows>(Place(path).path(), options), options);
}

SourceKind beton_kind() {
  return {.name = "beton",
          .description = "FFCV: a .beton or .ffcv file, or a folder of such files",
          .example = "/data/imagenet.beton /fast/imagenet",
          .options = make_source_options<KindOptions<RowOptions, open_beton>>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 57};
}

}  // namespace ffkit
