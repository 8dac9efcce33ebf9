// JSON of any bytes, as a file and as one document: where documents begin and end is the same in
// pieces of any length, and what simdjson takes as an object has the same members for
// json_members().
#include <simdjson.h>

#include "sources/files/json_documents.h"
#include "sources/numbers/json_members.h"
#include "touch.h"

namespace {

using Documents = std::vector<std::pair<int64_t, int64_t>>;

Documents documents_in(std::string_view text, size_t piece) {
  Documents found;
  ffkit::JsonDocuments documents(
      ffkit::json_layout(text, true),
      [&found](int64_t begin, int64_t end) { found.emplace_back(begin, end); });
  try {
    for (size_t at = 0; at < text.size(); at += piece) {
      documents.add(text.substr(at, piece), static_cast<int64_t>(at));
    }
    documents.finish(static_cast<int64_t>(text.size()));
  } catch (const ffkit::Error&) {
  }
  return found;
}

void compare_members(std::string_view text) {
  std::vector<ffkit::JsonMember> members;
  bool is_object = true;
  try {
    members = ffkit::json_members(text);
  } catch (const ffkit::Error&) {
    is_object = false;
  }
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(text).get_object().get(object) != simdjson::SUCCESS) return;
  if (!is_object) std::abort();
  size_t i = 0;
  for (const auto& [key, value] : object) {
    if (i == members.size() || members[i].key != key || !members[i].problem.empty()) std::abort();
    simdjson::dom::parser again;
    simdjson::dom::element alone;
    if (again.parse(members[i].value).get(alone) != simdjson::SUCCESS ||
        simdjson::minify(alone) != simdjson::minify(value)) {
      std::abort();
    }
    ++i;
  }
  if (i != members.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Documents whole = documents_in(text, size + 1);
  if (documents_in(text, 1) != whole || documents_in(text, 3) != whole) std::abort();
  for (const auto& [begin, end] : whole) {
    if (begin < 0 || begin >= end || end > static_cast<int64_t>(size)) std::abort();
  }
  compare_members(text);
  return 0;
}
