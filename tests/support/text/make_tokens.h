// Data sets of tokens that tests make for themselves.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/text/token_data.h>

namespace ffkit::testing {

// A block of documents, which are tokens without their end-of-text.
using TokenDocuments = std::vector<std::vector<uint32_t>>;

// The split at `folder`, whose last token is end-of-text.
inline Dataset make_tokens(const std::filesystem::path& folder,
                           const std::vector<TokenDocuments>& blocks,
                           int64_t vocabulary_size = 60000) {
  const DType dtype = text::token_dtype(vocabulary_size);
  const Schema schema = text::token_schema(dtype);
  Manifest manifest{.split = "train", .schema = schema};
  manifest.options = {{text::kVocabularyOption, std::to_string(vocabulary_size)},
                      {text::kEndOfTextOption, std::to_string(vocabulary_size - 1)}};
  std::filesystem::create_directories(folder.parent_path());
  DatasetWriter writer(folder, manifest);
  for (const TokenDocuments& documents : blocks) {
    std::vector<uint32_t> ids, ends;
    for (const std::vector<uint32_t>& document : documents) {
      ids.insert(ids.end(), document.begin(), document.end());
      ids.push_back(static_cast<uint32_t>(vocabulary_size - 1));
      ends.push_back(static_cast<uint32_t>(ids.size()));
    }
    const std::vector<uint16_t> narrow(ids.begin(), ids.end());
    const auto bytes =
        dtype == DType::u16 ? std::as_bytes(std::span(narrow)) : std::as_bytes(std::span(ids));
    RecordBuilder record(schema);
    record.set_tensor(0, {.dtype = dtype, .shape = {std::ssize(ids)}, .data = bytes});
    record.set_tensor(
        1,
        {.dtype = DType::u32, .shape = {std::ssize(ends)}, .data = std::as_bytes(std::span(ends))});
    record.set_scalar(2, static_cast<int64_t>(ids.size()));
    record.set_scalar(3, static_cast<int64_t>(ends.size()));
    record.set_scalar(4, int64_t{0});
    record.set_scalar(5, int64_t{0});
    record.set_string(6, "made");
    std::vector<std::byte> encoded;
    record.encode(encoded);
    writer.append(encoded);
  }
  writer.finish();
  return Dataset::open(folder);
}

}  // namespace ffkit::testing
