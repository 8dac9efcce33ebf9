#include "message_table.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <regex>
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

// What differs from one run to the next, and what stands for it in the table.
std::string without_what_changes(std::string text) {
  static const std::vector<std::pair<std::regex, const char*>> kChanging = [] {
    std::vector<std::pair<std::regex, const char*>> made;
    for (const auto& [pattern, stand_in] : std::vector<std::pair<const char*, const char*>>{
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
         }) {
      made.emplace_back(std::regex(pattern), stand_in);
    }
    return made;
  }();
  for (const auto& [pattern, stand_in] : kChanging) {
    text = std::regex_replace(text, pattern, stand_in);
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

// Suite.Name of a test; of one with parameters or types, what all of them share.
std::string name_of(const ::testing::TestInfo& test, bool is_shared) {
  std::string suite = test.test_suite_name(), name = test.name();
  if (is_shared) {
    name.erase(std::min(name.find('/'), name.size()));
    const size_t last = suite.rfind('/');
    if (last != std::string::npos &&
        suite.find_first_not_of("0123456789", last + 1) == std::string::npos) {
      suite.erase(last);
    }
    suite.erase(0, suite.rfind('/') + 1);
  }
  return suite + "." + name;
}

std::string line_of(const Error& error) {
  return std::string(to_string(error.code())) + " " +
         std::string(to_string(error.context().subject)) + "  " + lasting(error.what());
}

bool contains(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

class MessageTable : public ::testing::EmptyTestEventListener {
 public:
  explicit MessageTable(const char* room)
      : page_(std::string("docs/messages/") + room + ".md"),
        is_there_(std::filesystem::exists(path())) {}

  ::testing::AssertionResult check(const Error& error) {
    const std::lock_guard lock(mutex_);
    const std::string line = line_of(error);
    if (contains(seen_, line)) return ::testing::AssertionSuccess();
    seen_.push_back(line);
    if (record_ != nullptr || !is_there_) return ::testing::AssertionSuccess();
    const std::vector<std::string>& expected =
        expected_lines(*::testing::UnitTest::GetInstance()->current_test_info());
    // (Threads of a test may come in any order.)
    if (contains(expected, line)) return ::testing::AssertionSuccess();
    const size_t i = seen_.size() - 1;
    return ::testing::AssertionFailure()
           << "another sentence than in " << page_ << " (tools/messages writes it):\n"
           << "  now:   " << line << "\n  there: " << (i < expected.size() ? expected[i] : "none")
           << "\n";
  }

  void OnTestEnd(const ::testing::TestInfo& test) override {
    const std::lock_guard lock(mutex_);
    if (!test.result()->Failed() && !test.result()->Skipped()) {
      if (record_ != nullptr) {
        std::ofstream file(record_, std::ios::app);
        file << name_of(test, false) << "\n";
        for (const std::string& line : seen_) file << "    " << line << "\n";
      } else if (is_there_) {
        for (const std::string& line : expected_lines(test)) {
          if (contains(seen_, line)) continue;
          ADD_FAILURE() << name_of(test, false) << " does not meet a sentence that " << page_
                        << " has (tools/messages writes it):\n  there: " << line << "\n";
        }
      }
    }
    seen_.clear();
  }

 private:
  std::string path() const { return FFKIT_SOURCE_FOLDER "/" + page_; }

  const std::vector<std::string>& expected_lines(const ::testing::TestInfo& running) {
    if (!was_read_) {
      was_read_ = true;
      std::ifstream file(path());
      std::string test;
      for (std::string line; std::getline(file, line);) {
        if (line.starts_with("    ")) {
          tests_[test].push_back(line.substr(4));
        } else if (!line.empty()) {
          test = line;
        }
      }
    }
    // A test with parameters has a section of its own where its sentences differ from the others'.
    const auto own = tests_.find(name_of(running, false));
    return own != tests_.end() ? own->second : tests_[name_of(running, true)];
  }

  std::string page_;
  bool is_there_;
  bool was_read_ = false;
  const char* record_ = std::getenv("FFKIT_MESSAGES_RECORD");
  std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> tests_;  // the table
  std::vector<std::string> seen_;                          // of the running test, each once
};

MessageTable* message_table = nullptr;  // GoogleTest's

}  // namespace

bool use_message_table(const char* room) {
  if (message_table == nullptr) {
    message_table = new MessageTable(room);
    ::testing::UnitTest::GetInstance()->listeners().Append(message_table);
  }
  return true;
}

::testing::AssertionResult is_in_message_table(const Error& error) {
  return message_table->check(error);
}

}  // namespace ffkit::testing
