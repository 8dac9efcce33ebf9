#include "litdata/litdata_format.h"

#include <simdjson.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"
#include "base/number_text.h"
#include "rows/stored_values.h"

namespace ffkit {
namespace {

// Structures within one another; as deep as any that somebody writes.
constexpr int kMaxSpecDepth = 64;

LitDataFormat refused_format(const std::string& name, const char* reason) {
  return {.kind = LitDataKind::refused,
          .field = {},
          .refusal = fmt::format("has the format '{}', which {}", name, reason)};
}

std::string_view spec_text(simdjson::dom::element value) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    throw Error(ErrorCode::corrupt,
                "does not describe the structure of samples; write the index again");
  }
  return text;
}

// Keys of a dictionary: a list in JSON, which is a text in JSON. Numbers are keys, too.
std::vector<std::string> keys_of(simdjson::dom::element context) {
  simdjson::dom::parser parser;
  simdjson::dom::array keys;
  const std::string_view text = spec_text(context);
  if (parser.parse(text.data(), text.size()).get_array().get(keys) != simdjson::SUCCESS) {
    throw error_of(
        ErrorCode::corrupt,
        "has '{}' as the keys of a dictionary, but the keys must be a list; write the index again",
        text.substr(0, 100));
  }
  std::vector<std::string> names;
  for (const simdjson::dom::element key : keys) {
    std::string_view name;
    names.push_back(key.get_string().get(name) == simdjson::SUCCESS ? std::string(name)
                                                                    : simdjson::minify(key));
  }
  return names;
}

void add_leaves(simdjson::dom::element spec, const std::string& prefix, int depth,
                std::vector<std::string>& names) {
  simdjson::dom::object object;
  simdjson::dom::element type;
  simdjson::dom::element context;
  simdjson::dom::array children;
  const bool is_spec =
      spec.get_object().get(object) == simdjson::SUCCESS &&
      object.at_key("type").get(type) == simdjson::SUCCESS &&
      object.at_key("context").get(context) == simdjson::SUCCESS &&
      object.at_key("children_spec").get_array().get(children) == simdjson::SUCCESS;
  if (!is_spec || depth > kMaxSpecDepth) {
    throw Error(ErrorCode::corrupt,
                "does not describe the structure of samples; write the index again");
  }
  if (type.is_null()) {
    names.push_back(prefix.empty() ? "value" : prefix);
    return;
  }
  const std::string_view name = spec_text(type);
  const bool is_dictionary = name == "builtins.dict" || name == "collections.OrderedDict";
  const bool is_sequence =
      name == "builtins.list" || name == "builtins.tuple" || name == "collections.deque";
  if (!is_dictionary && !is_sequence) {
    throw error_of(
        ErrorCode::unsupported,
        "contains a '{}', and the values in it have no names; write samples as dictionaries", name);
  }
  std::vector<std::string> keys;
  if (is_dictionary) keys = keys_of(context);
  size_t i = 0;
  for (const simdjson::dom::element child : children) {
    if (is_dictionary && i >= keys.size()) break;
    const std::string key = is_dictionary ? keys[i] : std::to_string(i);
    add_leaves(child, prefix.empty() ? key : fmt::format("{}/{}", prefix, key), depth + 1, names);
    ++i;
  }
  if (is_dictionary && (i != keys.size() || children.size() != i)) {
    throw error_of(ErrorCode::corrupt,
                   "has a dictionary with {} keys and {} values; write the index again",
                   keys.size(), children.size());
  }
}

constexpr std::string_view kFramedMagic("LDFZ01\0\0", 8);
constexpr int64_t kFramedHeadBytes = 24;
constexpr int64_t kFrameEntryBytes = 24;

uint32_t offset_at(const std::vector<std::byte>& offsets, uint64_t sample) {
  uint32_t offset = 0;
  std::memcpy(&offset, offsets.data() + 4 * sample, sizeof(offset));
  return offset;
}

}  // namespace

LitDataFormat parse_litdata_format(const std::string& name) {
  const size_t colon = name.find(':');
  const std::string base = name.substr(0, colon);
  const std::string detail = colon == std::string::npos ? "" : name.substr(colon + 1);
  const auto plain = [](FieldType type) {
    return LitDataFormat{.kind = LitDataKind::plain, .field = {.type = type}};
  };
  const auto number = [](DType dtype) {
    return LitDataFormat{.kind = LitDataKind::number,
                         .field = {.type = FieldType::scalar, .dtype = dtype}};
  };
  const auto array = [](LitDataKind kind) {
    return LitDataFormat{.kind = kind, .field = {.type = FieldType::tensor}};
  };
  if (base == "str" || base == "text") return plain(FieldType::string);
  if (base == "jpeg" || base == "image") return plain(FieldType::image);
  if (base == "bytes") return plain(FieldType::bytes);
  if (base == "int") return number(DType::i64);
  if (base == "float") return number(DType::f64);
  if (base == "bool") {
    LitDataFormat format = number(DType::u8);
    format.note = "holds true and false; they are stored as 1 and 0";
    return format;
  }
  if (base == "pil") return {.kind = LitDataKind::pillow, .field = {.type = FieldType::image}};
  if (base == "jpeg_array") {
    return {.kind = LitDataKind::jpeg_array,
            .field = {.type = FieldType::list, .item = FieldType::image}};
  }
  if (base == "json") {
    return {.kind = LitDataKind::json,
            .field = {.type = FieldType::string},
            .refusal = {},
            .note = "holds lists or dictionaries; they are stored as JSON"};
  }
  for (const char* file : {"file", "video", "audio", "mesh", "pdf", "nifti", "tifffile", "tiff"}) {
    if (base != file) continue;
    LitDataFormat format = plain(FieldType::bytes);
    format.note = "holds files that ffkit does not decode; they are stored as bytes";
    return format;
  }
  if (base == "tensor") return array(LitDataKind::tensor);
  if (base == "numpy") return array(LitDataKind::numpy);
  if (base == "no_header_tensor" || base == "no_header_numpy") {
    const auto index = number_of_text<uint32_t>(detail);
    const auto dtype_of = base == "no_header_tensor" ? torch_dtype : numpy_dtype;
    const auto dtype = dtype_of(index.value_or(0));
    if (!index || !dtype) {
      return refused_format(name, "contains arrays of complex numbers, texts or objects");
    }
    LitDataFormat format = array(LitDataKind::numbers);
    format.field.dtype = *dtype;
    return format;
  }
  if (base == "pickle" || base == "graph") {
    return refused_format(name,
                          "contains pickled Python objects, and these objects can run programs "
                          "when a program reads them");
  }
  return refused_format(name, "LitData does not define");
}

std::optional<DType> torch_dtype(uint32_t number) {
  using enum DType;
  // litdata/constants.py, _TORCH_DTYPES_MAPPING. Names of one type have a number each. bool is u8.
  constexpr auto kNone = std::optional<DType>();
  constexpr std::array<std::optional<DType>, 21> kTypes = {
      f32, f32, f64, f64, kNone, kNone, kNone, kNone, f16, f16, bf16,
      u8,  i8,  i16, i16, i32,   i32,   i64,   i64,   u8,  u16};
  return number < kTypes.size() ? kTypes[number] : kNone;
}

std::optional<DType> numpy_dtype(uint32_t number) {
  using enum DType;
  // litdata/constants.py, _NUMPY_SCTYPES. bool is u8.
  constexpr auto kNone = std::optional<DType>();
  constexpr std::array<std::optional<DType>, 14> kTypes = {i8,  i16, i32, i64, u8,    u16,   u32,
                                                           u64, f16, f32, f64, kNone, kNone, u8};
  return number < kTypes.size() ? kTypes[number] : kNone;
}

std::vector<std::string> leaf_names(std::string_view spec) {
  // [1, {"type": ..., "context": ..., "children_spec": [...]}]: 1 is the version.
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  int64_t version = 0;
  const simdjson::padded_string text(spec);
  if (parser.parse(text).get(root) != simdjson::SUCCESS ||
      root.at(0).get_int64().get(version) != simdjson::SUCCESS || version != 1 ||
      root.at(1).get(root) != simdjson::SUCCESS) {
    throw Error(ErrorCode::corrupt,
                "does not describe the structure of samples; write the index again");
  }
  std::vector<std::string> names;
  add_leaves(root, "", 0, names);
  return names;
}

LitDataConfig read_litdata_config(const IndexValue& config) {
  if (config.find("encryption")) {
    throw config.error(ErrorCode::unsupported,
                       "says that the chunks are encrypted, but ffkit cannot read encrypted "
                       "chunks; write the chunks again without encryption");
  }
  LitDataConfig read;
  const auto loader = config.find("item_loader");
  const std::string loader_name = loader ? loader->text() : "PyTreeLoader";
  read.are_tokens = loader_name == "TokensLoader";
  if (loader_name != "PyTreeLoader" && !read.are_tokens) {
    throw config.error(
        ErrorCode::unsupported,
        fmt::format("has the item loader '{}', but ffkit reads only chunks of PyTreeLoader and "
                    "TokensLoader; write the samples with one of these two loaders",
                    loader_name));
  }
  for (const IndexValue& format : config.at("data_format").list()) {
    read.formats.push_back(format.text());
  }
  const IndexValue spec = config.at("data_spec");
  try {
    read.names = leaf_names(spec.text());
  } catch (const Error& error) {
    throw spec.error(error.code(), error.message());
  }
  if (read.names.size() != read.formats.size() || (read.are_tokens && read.names.size() != 1)) {
    throw config.error(
        ErrorCode::corrupt,
        fmt::format("has {} formats, but a sample has {} values; write the index again",
                    read.formats.size(), read.names.size()));
  }
  if (const auto compression = config.find("compression")) read.compression = compression->text();
  if (!read.compression.empty() && read.compression != "zstd" &&
      !read.compression.starts_with("zstd:")) {
    throw config.error(
        ErrorCode::unsupported,
        fmt::format(
            "has the compression '{}', but ffkit reads only zstd; write the chunks with zstd",
            read.compression));
  }
  const auto level = config.find("compression_level");
  const std::string level_name = level ? level->text() : "chunk";
  if (level_name == "batch") {
    read.in_chunk = InChunk::frames;
  } else if (level_name == "sample") {
    read.in_chunk = InChunk::samples;
  } else if (level_name != "chunk" && !level_name.empty()) {
    throw config.error(
        ErrorCode::unsupported,
        fmt::format("has the compression_level '{}', but ffkit reads only the levels 'chunk', "
                    "'batch' and 'sample'; write the chunks with one of these levels",
                    level_name));
  }
  return read;
}

// Writers do not all say how long it will be.
std::span<const std::byte> inflate_sample(std::span<const std::byte> row, int64_t max_row_bytes,
                                          SampleBuffers& buffers) {
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  const std::unique_ptr<ZSTD_DStream, Free> stream(ZSTD_createDStream());
  if (stream == nullptr) throw std::bad_alloc();
  const auto max_bytes = static_cast<size_t>(max_row_bytes);
  std::vector<std::byte>& out = buffers.array();
  out.resize(std::min(max_bytes, std::max<size_t>(4 * row.size(), 4096)));
  ZSTD_inBuffer from{row.data(), row.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  while (true) {
    const size_t result = ZSTD_decompressStream(stream.get(), &to, &from);
    if (ZSTD_isError(result) != 0) {
      throw error_of(ErrorCode::corrupt, "the zstd data are damaged: {}",
                     ZSTD_getErrorName(result));
    }
    if (result == 0 && from.pos == from.size) break;
    if (to.pos < to.size) {
      if (from.pos < from.size) continue;
      throw Error(ErrorCode::corrupt, "the zstd data are cut short");
    }
    if (out.size() == max_bytes) {
      throw error_of(ErrorCode::unsupported,
                     "the sample has more than {} bytes after decompression, which is the limit; "
                     "remove the sample, or raise the limit with {}",
                     max_bytes, option_name("max_sample_bytes"));
    }
    out.resize(std::min(max_bytes, 2 * out.size()));
    to.dst = out.data();
    to.size = out.size();
  }
  out.resize(to.pos);
  return out;
}

FramedChunk read_framed_chunk(const InputFile& file) {
  std::vector<std::byte> head(static_cast<size_t>(std::min(file.size(), kFramedHeadBytes)));
  file.read_at(0, head);
  StoredBytes from(head);
  const bool is_framed = std::ssize(head) == kFramedHeadBytes &&
                         std::memcmp(from.take(kFramedMagic.size()).data(), kFramedMagic.data(),
                                     kFramedMagic.size()) == 0;
  if (!is_framed) {
    throw Error(ErrorCode::corrupt,
                "the file is not a chunk with zstd frames, but index.json says that it is; copy "
                "the file again");
  }
  const auto version = from.number<uint16_t>();
  if (version != 1) {
    throw error_of(ErrorCode::unsupported,
                   "the chunk has frames of version {}, but ffkit reads version 1; write the chunk "
                   "with LitData's compression_level=\"chunk\"",
                   version);
  }
  (void)from.number<uint16_t>();  // flags: none yet
  const int64_t num_samples = from.number<uint32_t>();
  (void)from.number<uint32_t>();  // samples a frame: each frame says its own
  const int64_t num_frames = from.number<uint32_t>();
  const int64_t offsets_bytes = 4 * (num_samples + 1);
  const int64_t table_bytes = kFrameEntryBytes * num_frames;
  if (offsets_bytes + table_bytes > file.size() - kFramedHeadBytes) {
    throw error_of(
        ErrorCode::corrupt,
        "the file is cut short: it has {} bytes, too few for tables of {} samples and {} frames",
        file.size(), num_samples, num_frames);
  }
  FramedChunk chunk;
  chunk.offsets.resize(static_cast<size_t>(offsets_bytes));
  file.read_at(kFramedHeadBytes, chunk.offsets);
  std::vector<std::byte> table(static_cast<size_t>(table_bytes));
  file.read_at(kFramedHeadBytes + offsets_bytes, table);
  chunk.frames.offset = kFramedHeadBytes + offsets_bytes + table_bytes;
  int64_t next_sample = 0;
  StoredBytes frames(table);
  for (int64_t i = 0; i < num_frames; ++i) {
    const int64_t first = frames.number<uint32_t>();
    const int64_t count = frames.number<uint32_t>();
    const auto offset = frames.number<uint64_t>();
    const int64_t num_bytes = frames.number<uint32_t>();
    const bool follows =
        first == next_sample && first + count <= num_samples &&
        offset == static_cast<uint64_t>(chunk.frames.offset + chunk.frames.num_bytes) &&
        num_bytes <= file.size() - static_cast<int64_t>(offset) &&
        offset_at(chunk.offsets, static_cast<uint64_t>(first)) == chunk.num_bytes;
    if (!follows) {
      throw error_of(ErrorCode::corrupt,
                     "in the table of frames, frame {} does not begin at the end of the frame "
                     "before it; copy the file again",
                     i);
    }
    next_sample += count;
    chunk.frames.num_bytes += num_bytes;
    chunk.num_bytes += frames.number<uint32_t>();
  }
  if (next_sample != num_samples || chunk.frames.offset + chunk.frames.num_bytes != file.size()) {
    throw error_of(ErrorCode::corrupt,
                   "the frames end at sample {} and byte {}, but the file has {} samples and {} "
                   "bytes; copy the file again",
                   next_sample, chunk.frames.offset + chunk.frames.num_bytes, num_samples,
                   file.size());
  }
  return chunk;
}

}  // namespace ffkit
