#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include <ffkit/base/error.h>
#include <ffkit/image/dct_picture.h>

#include "duplicates/hash_file.h"

namespace ffkit {
namespace {

// Divides kPieceRecords.
constexpr int64_t kHashedAtOnce = 16;
constexpr size_t kMaxProblems = 10;

HashFileKey key_of(const Dataset& dataset, const HashedField& field, HashKind kind) {
  return {.kind = kind,
          .num_records = dataset.num_records(),
          .fingerprint = dataset.fingerprint(),
          .field = field.name};
}

HashedForm form_of(std::span<const std::byte> bytes) {
  const ImageEncoding encoding = detect_image_encoding(bytes);
  if (encoding == ImageEncoding::jpeg) return HashedForm::jpeg;
  return encoding == ImageEncoding::dct ? HashedForm::dct : HashedForm::other;
}

// Hashes one record after another, and keeps its memory; one per thread.
class RecordHasher {
 public:
  RecordHash hash(const Dataset& dataset, const HashedField& field, int64_t record) {
    RecordHash result;
    try {
      result.state = read(dataset, field, record) ? HashState::bytes : HashState::null;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::corrupt) throw;
      result.state = HashState::damaged;
    }
    if (result.state != HashState::bytes) return result;
    result.content = content_hash(buffer_);
    result.form = form_of(buffer_);
    if (field.kind == HashKind::pictures) hash_picture(result);
    return result;
  }

  // What is wrong with a record that hash() finds damaged or undecodable.
  std::string problem(const Dataset& dataset, const HashedField& field, int64_t record) {
    try {
      if (read(dataset, field, record)) hasher_.hash(buffer_);
    } catch (const Error& error) {
      const RecordName name = dataset.name(record);
      ErrorContext context{.record = name.record};
      if (name.file != nullptr) context.path = name.file->string();
      return error.within(context).text(OptionStyle::command_line);
    }
    return "";  // it was read a second time, and is whole now
  }

  // The content hash of the JPEG that a record's dct code stands for; none where the code is
  // damaged.
  std::optional<ContentHash> jpeg_hash(const Dataset& dataset, const HashedField& field,
                                       int64_t record) {
    try {
      if (!read(dataset, field, record)) return std::nullopt;
      transcoder_.decode_to_jpeg(buffer_, jpeg_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::unsupported) throw;
      return std::nullopt;
    }
    return content_hash(jpeg_);
  }

 private:
  bool read(const Dataset& dataset, const HashedField& field, int64_t record) {
    if (field.position) return dataset.read_field(record, *field.position, buffer_);
    dataset.read(record, buffer_);
    return true;
  }

  void hash_picture(RecordHash& result) {
    try {
      const PictureHash picture = hasher_.hash(buffer_);
      result.picture = picture.bits;
      result.state = picture.is_plain ? HashState::plain : HashState::picture;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::unsupported) throw;
      result.state = HashState::undecodable;
    }
  }

  std::vector<std::byte> buffer_;
  std::vector<std::byte> jpeg_;
  PictureHasher hasher_;
  DctTranscoder transcoder_;
};

// Writes pieces into the side file as long as that works.
class HashKeeper {
 public:
  HashKeeper(const std::filesystem::path& folder, const HashFileKey& key) {
    if (folder.empty()) return;
    try {
      writer_ = std::make_unique<HashFileWriter>(folder / key.file_name(), key);
    } catch (const Error& error) {
      give_up(error);
    }
  }

  // Thread-safe. A piece with damaged records is not kept: when they are replaced, the split has
  // the same fingerprint.
  void write(int64_t piece, std::span<const RecordHash> hashes) {
    if (!writer_ || is_off_ ||
        std::ranges::find(hashes, HashState::damaged, &RecordHash::state) != hashes.end()) {
      return;
    }
    try {
      writer_->write(piece, hashes);
    } catch (const Error& error) {
      give_up(error);
    }
  }

  const std::string& problem() const { return problem_; }

 private:
  void give_up(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (is_off_) return;
    is_off_ = true;
    problem_ = fmt::format("the hashes are not kept: {}", error.text(OptionStyle::command_line));
  }

  std::unique_ptr<HashFileWriter> writer_;
  std::atomic<bool> is_off_ = false;
  std::mutex mutex_;  // of problem_
  std::string problem_;
};

// Other picture fields than the one that is compared, with commas.
std::string other_pictures(const Schema& schema, size_t chosen) {
  std::string names;
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    if (i == chosen || schema.fields[i].type != FieldType::image) continue;
    names += (names.empty() ? "" : ", ") + schema.fields[i].name;
  }
  return names;
}

// Fills `hashes`, of a subset, from the file of its whole split, if that is whole.
bool load_from_whole(const Dataset& dataset, const HashedField& field, HashKind kind,
                     const std::filesystem::path& folder, std::span<RecordHash> hashes) {
  const HashFileKey key = key_of(dataset.whole_split(), field, kind);
  std::vector<RecordHash> whole(key.num_records);
  if (load_hashes(folder / key.file_name(), key, whole) < key.num_records) return false;
  for (int64_t i = 0; i < std::ssize(hashes); ++i) hashes[i] = whole[dataset.index_in_split(i)];
  return true;
}

}  // namespace

HashedField choose_hashed_field(const Dataset& dataset, const std::string& wanted,
                                std::vector<std::string>& notes) {
  const Schema& schema = dataset.schema();
  const std::string& split = dataset.manifest().split;
  size_t position = 0;
  if (!wanted.empty()) {
    position = schema.require(wanted);
  } else {
    const auto found = std::ranges::find(schema.fields, FieldType::image, &Field::type);
    if (found == schema.fields.end()) {
      notes.push_back(fmt::format(
          "{}: has no pictures; records are compared by all of their bytes, including ids", split));
      return {};
    }
    position = static_cast<size_t>(found - schema.fields.begin());
    if (const std::string others = other_pictures(schema, position); !others.empty()) {
      notes.push_back(fmt::format("{}: field '{}' is compared, not {}; choose another with {}",
                                  split, found->name, others, option_name("field")));
    }
  }
  const Field& field = schema.fields[position];
  const bool is_picture = field.type == FieldType::image;
  if (!is_picture) {
    notes.push_back(fmt::format(
        "{}: field '{}' is compared by its bytes; near duplicates need a field of pictures", split,
        field.name));
  }
  return {position, field.name, is_picture ? HashKind::pictures : HashKind::bytes};
}

int64_t load_split_hashes(const Dataset& dataset, const HashedField& field,
                          const std::filesystem::path& folder, std::span<RecordHash> hashes) {
  if (folder.empty()) return 0;
  for (const HashKind kind : {HashKind::pictures, HashKind::bytes}) {
    if (kind == HashKind::bytes && field.kind == HashKind::pictures) continue;
    if (dataset.is_subset() && load_from_whole(dataset, field, kind, folder, hashes)) {
      return std::ssize(hashes);
    }
    const HashFileKey key = key_of(dataset, field, kind);
    const int64_t num_loaded = load_hashes(folder / key.file_name(), key, hashes);
    if (kind == field.kind || num_loaded == std::ssize(hashes)) return num_loaded;
    std::ranges::fill(hashes, RecordHash());
  }
  return 0;
}

void hash_split(const Dataset& dataset, const HashedField& field,
                const std::filesystem::path& folder, std::span<RecordHash> hashes,
                DuplicateProgress& progress, std::vector<std::string>& notes) {
  const int64_t num_records = std::ssize(hashes);
  const auto piece_of = [&](int64_t piece) {
    const int64_t begin = piece * kPieceRecords;
    return hashes.subspan(begin, std::min(kPieceRecords, num_records - begin));
  };
  const auto is_missing = [](const RecordHash& hash) { return hash.state == HashState::missing; };
  // A file has whole pieces, so the first record tells. Blocks of missing pieces, and how many of
  // each piece are left.
  std::vector<int64_t> blocks;
  std::vector<std::atomic<int64_t>> num_left((num_records + kPieceRecords - 1) / kPieceRecords);
  for (int64_t begin = 0; begin < num_records; begin += kHashedAtOnce) {
    if (!is_missing(hashes[begin / kPieceRecords * kPieceRecords])) continue;
    blocks.push_back(begin);
    ++num_left[begin / kPieceRecords];
  }
  if (blocks.empty()) return;
  HashKeeper keeper(folder, key_of(dataset, field, field.kind));
  tbb::enumerable_thread_specific<RecordHasher> hashers;
  const tbb::blocked_range<size_t> all(0, blocks.size());
  tbb::parallel_for(all, [&](const tbb::blocked_range<size_t>& range) {
    RecordHasher& hasher = hashers.local();
    for (size_t b = range.begin(); b < range.end() && !progress.stop; ++b) {
      const int64_t begin = blocks[b];
      const int64_t end = std::min(begin + kHashedAtOnce, num_records);
      for (int64_t i = begin; i < end; ++i) dataset.will_read(i);
      for (int64_t i = begin; i < end; ++i) hashes[i] = hasher.hash(dataset, field, i);
      if (progress.on_done) progress.on_done(end - begin);
      progress.num_done += end - begin;
      const int64_t piece = begin / kPieceRecords;
      if (--num_left[piece] == 0) keeper.write(piece, piece_of(piece));
    }
  });
  if (!keeper.problem().empty()) notes.push_back(keeper.problem());
  if (progress.stop) throw Error(ErrorCode::cancelled, "the search was stopped");
}

HashCounts count_hashes(const Dataset& dataset, const HashedField& field,
                        std::span<const RecordHash> hashes) {
  HashCounts counts;
  counts.num_records = std::ssize(hashes);
  RecordHasher hasher;
  for (int64_t i = 0; i < counts.num_records; ++i) {
    const HashState state = hashes[i].state;
    counts.num_pictures += state == HashState::picture ? 1 : 0;
    counts.num_plain += state == HashState::plain ? 1 : 0;
    counts.num_null += state == HashState::null ? 1 : 0;
    counts.num_undecodable += state == HashState::undecodable ? 1 : 0;
    counts.num_damaged += state == HashState::damaged ? 1 : 0;
    const bool is_wrong = state == HashState::undecodable || state == HashState::damaged;
    if (is_wrong && counts.problems.size() < kMaxProblems) {
      if (std::string text = hasher.problem(dataset, field, i); !text.empty()) {
        counts.problems.push_back(std::move(text));
      }
    }
  }
  return counts;
}

void hash_dct_as_jpeg(const Dataset& dataset, const HashedField& field,
                      const std::optional<std::vector<uint64_t>>& jpegs,
                      std::span<RecordHash> hashes) {
  tbb::enumerable_thread_specific<RecordHasher> hashers;
  const tbb::blocked_range<size_t> all(0, hashes.size());
  tbb::parallel_for(all, [&](const tbb::blocked_range<size_t>& range) {
    for (size_t i = range.begin(); i < range.end(); ++i) {
      if (hashes[i].form != HashedForm::dct) continue;
      if (jpegs && !std::ranges::binary_search(*jpegs, hashes[i].picture)) continue;
      const auto hash = hashers.local().jpeg_hash(dataset, field, static_cast<int64_t>(i));
      if (hash) hashes[i].content = *hash;
    }
  });
}

}  // namespace ffkit
