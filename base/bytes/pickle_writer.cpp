#include <limits>

#include "bytes/pickle.h"
#include "little_endian.h"

namespace ffkit {
namespace {

// Appends opcodes of protocol 4.
class PickleWriter {
 public:
  explicit PickleWriter(std::vector<std::byte>& out) : out_(out) {}

  void opcode(unsigned char code) { out_.push_back(static_cast<std::byte>(code)); }
  template <typename T>
  void number(T value) {
    out_.resize(out_.size() + sizeof(T));
    store_le(out_.data() + out_.size() - sizeof(T), value);
  }
  void raw(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }

  // The shortest of BININT1, BININT2, BININT and LONG1, as Python chooses.
  void integer(int64_t value) {
    if (value >= 0 && value <= 0xFF) {
      opcode('K');
      number(static_cast<uint8_t>(value));
    } else if (value >= 0 && value <= 0xFFFF) {
      opcode('M');
      number(static_cast<uint16_t>(value));
    } else if (value >= std::numeric_limits<int32_t>::min() &&
               value <= std::numeric_limits<int32_t>::max()) {
      opcode('J');
      number(static_cast<int32_t>(value));
    } else {
      // Two's complement in as few bytes as keep the sign.
      uint8_t num_bytes = 8;
      while (num_bytes > 1 && value >> (8 * (num_bytes - 1) - 1) == (value < 0 ? -1 : 0))
        --num_bytes;
      opcode(0x8a);
      number(num_bytes);
      for (int i = 0; i < num_bytes; ++i) number(static_cast<uint8_t>(value >> (8 * i)));
    }
  }

  void bytes_header(size_t size) {
    if (size <= 0xFF) {
      opcode('C');
      number(static_cast<uint8_t>(size));
    } else if (size <= 0xFFFFFFFF) {
      opcode('B');
      number(static_cast<uint32_t>(size));
    } else {
      opcode(0x8e);
      number(static_cast<uint64_t>(size));
    }
  }

  void text(std::string_view value) {
    if (value.size() <= 0xFF) {
      opcode(0x8c);
      number(static_cast<uint8_t>(value.size()));
    } else {
      opcode('X');
      number(static_cast<uint32_t>(value.size()));
    }
    raw(std::as_bytes(std::span(value)));
  }

  // Python's own limit on how much APPENDS and SETITEMS take.
  static constexpr size_t kBatch = 1000;

 private:
  std::vector<std::byte>& out_;
};

constexpr unsigned char kProto = 0x80;
constexpr unsigned char kFrame = 0x95;
constexpr unsigned char kMemoize = 0x94;
constexpr unsigned char kTuple2 = 0x86;

}  // namespace

void pickle_bytes_and_label(std::span<const std::byte> data, int64_t label,
                            std::vector<std::byte>& out) {
  // CPython's _pickle.c (_Pickler_write_bytes): payloads of FRAME_SIZE_TARGET bytes and more are
  // written outside of frames.
  constexpr size_t kFrameSizeTarget = 64 * 1024;
  out.clear();
  PickleWriter writer(out);
  writer.opcode(kProto);
  writer.number(uint8_t{4});

  std::vector<std::byte> framed;
  PickleWriter frame(framed);
  if (data.size() >= kFrameSizeTarget) {
    writer.bytes_header(data.size());
    writer.raw(data);
  } else {
    frame.bytes_header(data.size());
    frame.raw(data);
  }
  frame.opcode(kMemoize);
  frame.integer(label);
  frame.opcode(kTuple2);
  frame.opcode(kMemoize);
  frame.opcode('.');
  writer.opcode(kFrame);
  writer.number(uint64_t{framed.size()});
  writer.raw(framed);
}

std::vector<std::byte> pickle_class_list(const std::vector<std::string>& classes,
                                         std::span<const int64_t> targets) {
  std::vector<std::byte> out;
  PickleWriter writer(out);
  const auto batches = [&](size_t count, unsigned char end, auto item) {
    for (size_t i = 0; i < count; ++i) {
      if (i % PickleWriter::kBatch == 0) writer.opcode('(');
      item(i);
      if ((i + 1) % PickleWriter::kBatch == 0 || i + 1 == count) writer.opcode(end);
    }
  };
  writer.opcode(kProto);
  writer.number(uint8_t{4});
  writer.opcode('}');
  writer.opcode('(');
  writer.text("classes");
  writer.opcode(']');
  batches(classes.size(), 'e', [&](size_t i) { writer.text(classes[i]); });
  writer.text("class_to_idx");
  writer.opcode('}');
  batches(classes.size(), 'u', [&](size_t i) {
    writer.text(classes[i]);
    writer.integer(static_cast<int64_t>(i));
  });
  writer.text("targets");
  writer.opcode(']');
  batches(targets.size(), 'e', [&](size_t i) { writer.integer(targets[i]); });
  writer.opcode('u');
  writer.opcode('.');
  return out;
}

}  // namespace ffkit
