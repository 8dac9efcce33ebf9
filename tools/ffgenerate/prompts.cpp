#include "tools/ffgenerate/prompts.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include "base/make_error.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

void check_is_text(const std::string& path, const std::string& text) {
  const auto head = std::as_bytes(std::span(text.data(), std::min(text.size(), kContentHeadBytes)));
  const ContentKind kind = content_kind(head);
  const bool is_other = kind == ContentKind::utf16 || kind == ContentKind::utf32 ||
                        kind == ContentKind::git_lfs_pointer || is_compressed_stream(kind);
  if (!is_other && text.find('\0') == std::string::npos) return;
  const std::string remedy = content_remedy(kind);
  throw error_at(path, ErrorCode::invalid_argument, "is {}, and no prompts; {}", content_name(kind),
                 remedy.empty() ? "give a text of UTF-8 with a prompt on each line" : remedy);
}

}  // namespace

std::vector<std::string> read_prompts(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw error_at(path, ErrorCode::invalid_argument, "is a folder; give a file of prompts");
  }
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) throw error_at(path, ErrorCode::not_found, "cannot be read");
  check_is_text(path, text);
  std::vector<std::string> prompts;
  for (size_t begin = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    prompts.push_back(text.substr(begin, end - begin));
    begin = end + (text.compare(end, 2, "\r\n") == 0 ? 2 : 1);
  }
  if (prompts.empty())
    throw error_at(path, ErrorCode::invalid_argument, "holds no prompt; write one on each line");
  return prompts;
}

}  // namespace ffkit
