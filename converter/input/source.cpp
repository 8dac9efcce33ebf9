#include <cstring>

#include <ffkit/converter/source.h>

namespace ffkit {

std::span<std::byte> SampleBuffers::bytes(size_t num_bytes) {
  std::vector<std::byte>& block = array();
  if (block.size() < num_bytes) block.resize(num_bytes);
  return {block.data(), num_bytes};
}

std::vector<std::byte>& SampleBuffers::array() {
  if (num_used_ == blocks_.size()) blocks_.push_back(std::make_unique<std::vector<std::byte>>());
  return *blocks_[num_used_++];
}

std::string_view SampleBuffers::text(std::string_view value) {
  const std::span<std::byte> copy = bytes(value.size());
  // std::ranges::copy is a loop of bytes here: a quarter of the time of a conversion of texts.
  if (!value.empty()) std::memcpy(copy.data(), value.data(), value.size());
  return {reinterpret_cast<const char*>(copy.data()), copy.size()};
}

void SampleBuffers::made_from(std::span<const std::byte> stored, std::span<const std::byte> file) {
  originals_.push_back({file_sum(stored), file_sum(file)});
}

void SampleBuffers::clear() {
  constexpr size_t kKeptBytes = 1 << 20;
  for (auto& block : blocks_) {
    if (block->capacity() > kKeptBytes) block = std::make_unique<std::vector<std::byte>>();
  }
  num_used_ = 0;
  problems_.clear();
  originals_.clear();
  content_ = {};
}

namespace {

const std::vector<std::string>& no_texts() {
  static const std::vector<std::string> none;
  return none;
}

}  // namespace

const std::vector<std::string>& Source::classes() const {
  return no_texts();
}
const std::vector<std::string>& Source::class_names() const {
  return no_texts();
}
const std::vector<ClassId>& Source::class_ids() const {
  static const std::vector<ClassId> none;
  return none;
}
const std::vector<std::string>& Source::notes() const {
  return no_texts();
}
SampleIdentity Source::identity(size_t split, int64_t index) const {
  return {.name = describe(split, index), .num_bytes = sample_bytes(split, index)};
}

const char* record_noun(const Source& source) {
  const Schema schema = source.schema();
  // Without classes, a number of the picture says that several records may show the same one.
  const int image = schema.index_of("image");
  const bool is_picture = image >= 0 &&
                          schema.fields[static_cast<size_t>(image)].type == FieldType::image &&
                          (!source.classes().empty() || schema.index_of("image_id") < 0);
  return is_picture ? "pictures" : "records";
}

}  // namespace ffkit
