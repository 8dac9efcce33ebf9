// Texts to tokens, and tokens to batches. Processor time of one thread, user and system together.
//
//   text_bench --tokenizer FOLDER --text FILE...      MB/s of text, each file cut into documents of
//                                                     4 KiB
//   text_bench --tokens 1000000000                    a data set of that many tokens in DIR: the
//                                                     start, and tokens/s of batches from the page
//                                                     cache
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/text/token_data.h>
#include <ffkit/text/token_loader.h>

#include "base/mix64.h"

namespace {

namespace fs = std::filesystem;
using namespace ffkit;

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void encode_file(const text::Tokenizer& tokenizer, const fs::path& path, int rounds) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (int round = 0; round < rounds; ++round) {
    text::TokenEncoder encoder(tokenizer);
    std::vector<uint32_t> ids;
    size_t num_tokens = 0;
    const double begin = processor_seconds();
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(at + 4096, text.size());
      while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
      ids.clear();
      encoder.encode(std::string_view(text).substr(at, end - at), ids);
      num_tokens += ids.size();
      at = end;
    }
    const double seconds = processor_seconds() - begin;
    fmt::print("{}: {} bytes, {} tokens: {:.1f} MB/s\n", path.filename().string(), text.size(),
               num_tokens, static_cast<double>(text.size()) / 1e6 / seconds);
  }
}

// Documents of about 500 tokens in blocks of 65,536.
void make_tokens(const fs::path& folder, int64_t num_tokens) {
  const Schema schema = text::token_schema(DType::u16);
  Manifest manifest{.split = "train", .schema = schema};
  manifest.options = {{text::kVocabularyOption, "50257"}, {text::kEndOfTextOption, "50256"}};
  DatasetWriter writer(folder, manifest);
  std::vector<uint16_t> ids(65536);
  std::vector<uint32_t> ends;
  std::vector<std::byte> encoded;
  uint64_t random = 1;
  for (int64_t made = 0; made < num_tokens; made += std::ssize(ids)) {
    ends.clear();
    for (uint16_t& id : ids)
      id = static_cast<uint16_t>((random = random * 6364136223846793005U + 1) >> 49);
    for (size_t end = 0; end < ids.size();) {
      end = std::min(end + 1 + (mix64(random++) & 1023), ids.size());
      ids[end - 1] = 50256;
      ends.push_back(static_cast<uint32_t>(end));
    }
    RecordBuilder record(schema);
    record.set_tensor(0, {DType::u16, {std::ssize(ids)}, std::as_bytes(std::span(ids))});
    record.set_tensor(1, {DType::u32, {std::ssize(ends)}, std::as_bytes(std::span(ends))});
    record.set_scalar(2, int64_t{std::ssize(ids)});
    record.set_scalar(3, int64_t{std::ssize(ends)});
    record.set_scalar(4, int64_t{0});
    record.set_scalar(5, int64_t{0});
    record.set_string(6, "made");
    record.encode(encoded);
    writer.append(encoded);
  }
  writer.finish();
}

void load(const fs::path& folder, const text::TokenLoaderOptions& options, int64_t num_tokens,
          const char* name) {
  const double begin = wall_seconds();
  text::TokenLoader loader(Dataset::open(folder), options);
  loader.set_epoch(1);
  const double started = wall_seconds();
  if (!loader.next()) throw Error(ErrorCode::invalid_argument, "there is no batch");
  const double first = wall_seconds();
  const double busy = processor_seconds();
  int64_t loaded = 0;
  for (int64_t epoch = 1; loaded < num_tokens;) {
    if (const auto batch = loader.next()) {
      loaded += batch->size * options.context;
    } else {
      loader.set_epoch(++epoch);
    }
  }
  const double seconds = processor_seconds() - busy;
  fmt::print("{}: {} tokens; start {:.1f} ms, first batch {:.1f} ms; {:.1f} M tokens/s\n", name,
             loader.num_tokens(), (started - begin) * 1e3, (first - started) * 1e3,
             static_cast<double>(loaded) / 1e6 / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Texts to tokens, tokens to batches");
  std::string tokenizer = "bytes";
  std::vector<std::string> texts;
  std::string folder;
  int64_t num_tokens = 0;
  int rounds = 3;
  app.add_option("--tokenizer", tokenizer, "As of ffconvert text");
  app.add_option("--text", texts, "Files to encode");
  app.add_option("--tokens", num_tokens, "Tokens of a data set that is made and loaded");
  app.add_option("--folder", folder, "Where it is made, and stays; it is not made again");
  app.add_option("--rounds", rounds);
  CLI11_PARSE(app, argc, argv);
  try {
    for (const std::string& text : texts)
      encode_file(text::Tokenizer::open(tokenizer), text, rounds);
    if (num_tokens == 0) return 0;
    const fs::path train = fs::path(folder) / "train";
    if (!fs::exists(train / "manifest.json")) {
      fs::create_directories(folder);
      make_tokens(train, num_tokens);
    }
    const int64_t loaded = std::min<int64_t>(num_tokens, 200'000'000);
    for (int round = 0; round < rounds; ++round) {
      load(train, {}, loaded, "stream");
      load(train, {.samples = text::TokenSamples::documents}, loaded,
           "documents, with their padding");
      load(train, {.window_tokens = int64_t{1} << 40}, loaded, "stream, one window");
    }
  } catch (const Error& error) {
    fmt::print(stderr, "text_bench: error: {}\n", error.what());
    return 1;
  }
  return 0;
}
