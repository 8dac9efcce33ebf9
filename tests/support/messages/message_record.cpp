#include "message_record.h"

#include <regex.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace ffkit::testing {
namespace {

void replace_all(std::string& text, const std::string& old, const std::string& replacement) {
  if (old.empty()) return;
  for (size_t at = text.find(old); at != std::string::npos;
       at = text.find(old, at + replacement.size())) {
    text.replace(at, old.size(), replacement);
  }
}

// Not where it ends another path: a checkout may lie in /src.
void replace_path(std::string& text, const std::string& path, const std::string& replacement) {
  for (size_t at = text.find(path); at != std::string::npos;) {
    const bool ends_another = at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) ||
                                         text[at - 1] == '_' || text[at - 1] == '-');
    if (!ends_another) text.replace(at, path.size(), replacement);
    at = text.find(path, at + (ends_another ? path.size() : replacement.size()));
  }
}

// What differs from one run to the next, as a POSIX expression (<regex> takes seconds to compile),
// and what stands for it in the record; $1 is the group.
constexpr std::pair<const char*, const char*> kChanging[] = {
    // Folders of tests, /tmp/ffkit-test-a1B2c3, and of the demo; files in memory.
    {"/[^ ':,;]*/ffkit-test-[A-Za-z0-9]{6}", "TMP"},
    {"ffkit-demo-[A-Za-z0-9]{6}", "ffkit-demo-XXXXXX"},
    {"/proc/self/fd/[0-9]+", "/proc/self/fd/FD"},
    {"tfevents\\.[0-9]+\\.[^ ]+\\.[0-9]+\\.0", "tfevents.TIME.HOST.PID.0"},
    {"0x[0-9a-f]{9,}", "0xADDRESS"},
    // How much is read at once depends on the file system.
    {"reading [0-9]+ bytes", "reading SOME bytes"},
    // How far a conversion came when it was stopped depends on the threads.
    {"[0-9]+ of ([0-9]+) shards are finished", "SOME of $1 shards are finished"},
    // Models that some suites of the trainer add to its own.
    {", test_resnet, test_resnet_deeper", ""},
    // How Gloo, its store and the resolver say that nobody is there.
    {": [^:;]*\\[127\\.0\\.0\\.1\\][^;]*;", ": GLOO'S WORDS;"},
    {"after [0-9]+ms", "after SOME ms"},
    // Servers of tests.
    {"\\(127\\.0\\.0\\.1:[0-9]+\\)", "(127.0.0.1:PORT)"},
    {"\\((Name or service not known|Temporary failure in name resolution)\\)",
     "(THE RESOLVER'S WORDS)"},
};

std::string without_what_changes(std::string text) {
  // Never destroyed: what regcomp() allocated lasts as long as the process and stays reachable.
  static const auto& patterns = *[] {
    auto* compiled = new std::vector<regex_t>(std::size(kChanging));
    for (size_t i = 0; i < compiled->size(); ++i) {
      if (::regcomp(&(*compiled)[i], kChanging[i].first, REG_EXTENDED) != 0) std::abort();
    }
    return compiled;
  }();
  for (size_t i = 0; i < patterns.size(); ++i) {
    regmatch_t found[2];
    for (size_t from = 0; ::regexec(&patterns[i], &text[from], 2, found, 0) == 0;) {
      const auto part = [&](const regmatch_t& m) {
        return m.rm_so < 0 ? "" : text.substr(from + m.rm_so, m.rm_eo - m.rm_so);
      };
      std::string stand_in = kChanging[i].second;
      replace_all(stand_in, "$1", part(found[1]));
      from += found[0].rm_so;
      text.replace(from, found[0].rm_eo - found[0].rm_so, stand_in);
      from += stand_in.size();
    }
  }
  return text;
}

// `text` without what differs from one run or machine to the next.
std::string lasting(std::string text) {
  replace_all(text, "\n", "\\n");
  text = without_what_changes(text);
  if (const char* shared = std::getenv("FFKIT_SHARED_DATA")) replace_all(text, shared, "DATA");
  std::error_code ignored;  // a test may have removed it
  replace_path(text, std::filesystem::current_path(ignored).string() + "/", "");
  replace_path(text, FFKIT_SOURCE_FOLDER, "SOURCE");
  char host[256] = "";
  if (::gethostname(host, sizeof host) == 0) {
    replace_all(text, std::string(" on ") + host, " on HOST");
  }
  replace_all(text, "process " + std::to_string(::getpid()), "process PID");
  return text;
}

}  // namespace

void record_message(const Error& error) {
  static const char* const file = std::getenv("FFKIT_MESSAGES_RECORD");
  if (file == nullptr) return;
  static std::mutex mutex;
  static std::set<std::string> recorded;  // of this process
  const std::string line = std::string(to_string(error.code())) + " " +
                           std::string(to_string(error.context().subject)) + " " +
                           lasting(error.what()) + "\n";
  const std::lock_guard lock(mutex);
  // One write(2) at the end of the file: other processes write there, too.
  if (recorded.insert(line).second) std::ofstream(file, std::ios::app) << line << std::flush;
}

}  // namespace ffkit::testing
