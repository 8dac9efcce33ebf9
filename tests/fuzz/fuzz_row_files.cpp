// Files of other libraries, of any bytes: the first byte says which. What a reader lists lies in
// the file and can be read, or is an Error.
#include "memory_file.h"
#include "seeds/seeds.h"
#include "sources/beton/beton_file.h"
#include "sources/lmdb/lmdb_file.h"
#include "sources/lmdb/lmdb_values.h"
#include "sources/recordio/recordio_file.h"
#include "touch.h"

namespace {

using ffkit::fuzzing::attempt;
using ffkit::fuzzing::touch;

constexpr int64_t kMostBytes = 1 << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

// Reads of a file that is these bytes; those outside of it are a mistake of the reader.
auto reads_of(std::span<const std::byte> bytes) {
  return [bytes](int64_t offset, std::span<std::byte> out) {
    require(offset >= 0 && offset <= std::ssize(bytes) &&
            std::ssize(out) <= std::ssize(bytes) - offset);
    if (!out.empty()) std::memcpy(out.data(), bytes.data() + offset, out.size());
  };
}

void read_records(std::span<const std::byte> bytes) {
  const auto entries =
      ffkit::scan_recordio("a.rec", std::ssize(bytes), reads_of(bytes), kMostBytes, 4096, nullptr);
  int64_t end = 0;
  for (const ffkit::RecordIoEntry& entry : entries) {
    require(entry.range.offset == end && entry.range.num_bytes > 0);
    end += entry.range.num_bytes;
    require(end <= std::ssize(bytes));
    bool is_whole = false;
    attempt([&] {
      ffkit::SampleBuffers buffers;
      const auto record =
          ffkit::join_recordio_parts(bytes.subspan(static_cast<size_t>(entry.range.offset),
                                                   static_cast<size_t>(entry.range.num_bytes)),
                                     buffers);
      touch(record);
      is_whole = true;
      const auto image = ffkit::split_recordio_image(record);
      require(image || entry.content != ffkit::RecordIoContent::picture_with_header);
      if (image) touch(image->data);
    });
    require(!is_whole || entry.content != ffkit::RecordIoContent::damaged);
  }
  require(end == std::ssize(bytes));
}

void read_lists(std::span<const std::byte> bytes, bool is_index) {
  static ffkit::testing::MemoryFile memory;
  memory.assign(bytes);
  std::vector<ffkit::RecordIoEntry> records(3);
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].range = {static_cast<int64_t>(12 * i), 12};
    records[i].id = i;
  }
  if (is_index) {
    attempt([&] { require(ffkit::read_recordio_keys(memory.path(), records).size() == 3); });
    return;
  }
  attempt([&] {
    std::string why_not;
    const auto names =
        ffkit::names_of_records(ffkit::read_picture_list(memory.path()), records, why_not);
    require(why_not.empty() ? names.size() == 3 : names.empty());
  });
}

void read_beton(std::span<const std::byte> bytes) {
  const ffkit::BetonFile file("a.beton", std::ssize(bytes), reads_of(bytes));
  for (int64_t sample = 0; sample < file.num_samples(); ++sample) {
    for (size_t field = 0; field < file.fields().size(); ++field) {
      attempt([&] {
        const ffkit::FileRange data = file.value(sample, field).data;
        require(data.offset >= 0 && data.num_bytes >= 0 &&
                data.num_bytes <= std::ssize(bytes) - data.offset);
        touch(bytes.subspan(static_cast<size_t>(data.offset), static_cast<size_t>(data.num_bytes)));
      });
    }
  }
}

void read_lmdb(std::span<const std::byte> bytes) {
  for (const ffkit::LmdbEntry& entry :
       ffkit::list_lmdb("a.mdb", std::ssize(bytes), reads_of(bytes), "", nullptr).entries) {
    // A value may be cut, and no more.
    require(entry.value.offset >= 0 && entry.value.num_bytes >= 0);
    if (entry.value.num_bytes > std::ssize(bytes) - entry.value.offset) continue;
    touch(bytes.subspan(static_cast<size_t>(entry.value.offset),
                        static_cast<size_t>(entry.value.num_bytes)));
  }
}

void read_datum(std::span<const std::byte> message) {
  const ffkit::DatumBytes bytes = [&](int64_t offset, size_t count) {
    require(offset >= 0 && offset <= std::ssize(message));
    const auto rest = message.subspan(static_cast<size_t>(offset));
    return rest.first(std::min(count, rest.size()));
  };
  const ffkit::LmdbContent content = ffkit::facts_of_lmdb_value(std::ssize(message), bytes).content;
  if (content == ffkit::LmdbContent::picture || content == ffkit::LmdbContent::pickle ||
      content == ffkit::LmdbContent::other) {
    return;
  }
  ffkit::SampleBuffers buffers;
  ffkit::RowValue value;
  ffkit::RowValue label;
  // What was said of it holds, but for sides that no picture has.
  attempt([&] {
    ffkit::set_datum(message, content, ffkit::PlaneOrder::bgr, value, &label, buffers);
    require(!value.is_null);
    touch(value.bytes);
    touch(value.tensor.data);
  });
}

}  // namespace

// Another kind of file would be of no use.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned) {
  if (size < 2) return LLVMFuzzerMutate(data, size, max_size);
  return 1 + LLVMFuzzerMutate(data + 1, size - 1, max_size - 1);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  attempt([&] {
    switch (data[0]) {
      case 'r':
        return read_records(bytes);
      case 'i':
      case 'l':
        return read_lists(bytes, data[0] == 'i');
      case 'b':
        return read_beton(bytes);
      case 'm':
        return read_lmdb(bytes);
      case 'd':
        return read_datum(bytes);
      default:
        return;
    }
  });
  return 0;
}
