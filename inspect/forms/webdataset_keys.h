// The keys of WebDataset samples: what is before the extensions in the names of their members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace ffkit {

// The key of a record, and whether its id is another text, which the member kIdMember then has.
struct WebDatasetKey {
  std::string key;
  bool is_id = false;
};

// Gives each record of a split a key that no other one has: its id, without the ending of a picture
// file; or its number, where that cannot be a key or another record has it. An id that would be the
// number of another record is no key either. Not thread-safe; takes about 16 bytes a record.
class WebDatasetKeys {
 public:
  explicit WebDatasetKeys(int64_t num_records);

  // `id`: of the next record, empty where it has none. `number`: of the record in the split.
  WebDatasetKey next(int64_t number, std::string_view id);

 private:
  bool take(std::string_view key);

  int digits_ = 1;
  std::unordered_set<size_t> taken_;  // hashes: two keys with one hash cost the second its id
};

}  // namespace ffkit
