// ffgenerate: text from a GPT-2. Texts on stdout, speed and errors on stderr; exit status 0, 1
// (failed) or 2 (wrong use).
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/base/version.h>
#include <ffkit/launch/launch.h>
#include <ffkit/trainer/generate.h>
#include <ffkit/trainer/trainer.h>

#include "base/make_error.h"
#include "format/content_kind.h"
#include "tools/common/command_line.h"
#include "tools/common/programs.h"
#include "tools/launch_options.h"

namespace ffkit {
namespace {

void check_is_text(const std::string& path, const std::string& text) {
  const ContentKind kind = content_kind(std::as_bytes(std::span(text)));
  const bool is_other = kind == ContentKind::utf16 || kind == ContentKind::utf32 ||
                        kind == ContentKind::git_lfs_pointer || is_compressed_stream(kind);
  if (!is_other && text.find('\0') == std::string::npos) return;
  const std::string remedy = content_remedy(kind);
  throw error_at(path, ErrorCode::invalid_argument, "is {}, not prompts; {}", content_name(kind),
                 remedy.empty() ? "give a UTF-8 text file with a prompt on each line" : remedy);
}

// A prompt on each line, which \n, \r\n or \r ends; an empty one begins a document. A byte order
// mark of UTF-8 is left out. Throws Error(not_found), and Error(invalid_argument) for a file
// without a line and for one that is no text of UTF-8.
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
    throw error_at(path, ErrorCode::invalid_argument, "has no prompt; write one on each line");
  return prompts;
}

}  // namespace
}  // namespace ffkit

namespace {

struct GenerateCommand {
  ffkit::GenerateOptions options;
  std::vector<std::string> prompts;
  std::string prompts_file;
  std::string dtype = "f32";
  ffkit::LaunchOptions launch;
  std::optional<bool> stream;  // none: to a terminal
  const CLI::Option* seed = nullptr;
  bool json = false;
  bool quiet = false;
};

void add_options(CLI::App& app, GenerateCommand& c) {
  ffkit::GenerateOptions& o = c.options;
  app.add_option("--model", o.model,
                 "Folder of a Hugging Face model with config.json, weights and tokenizer, or a "
                 "checkpoint or work folder of fftrain")
      ->required()
      ->type_name("MODEL");
  app.add_option("--weights-key", o.weights_key,
                 "Set of tensors to use, such as state_dict, if the file of weights has several "
                 "sets. The value may also be the prefix of the names of the tensors")
      ->type_name("KEY");
  app.add_option("--prompt", c.prompts,
                 "Text to continue. This option may be given several times. Without a prompt, "
                 "ffgenerate begins a new document")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("TEXT");
  app.add_option("--prompts", c.prompts_file,
                 "UTF-8 file with one prompt on each line. A line ends with \\n or \\r\\n")
      ->type_name("FILE")
      ->excludes("--prompt");
  app.add_option("--tokenizer", o.tokenizer,
                 "Folder or file of a tokenizer to use instead of the model's tokenizer. With the "
                 "word 'bytes', each byte is a token")
      ->type_name("FOLDER");
  app.add_option("--max-tokens", o.max_tokens, "Largest number of new tokens after each prompt")
      ->capture_default_str();
  app.add_option(
      "--temperature", o.temperature,
      "Divides the logits by this number before each token is drawn at random. 0 always takes the "
      "most probable token. The default is 1 with --top-k or --top-p, and 0 without them");
  app.add_option("--top-k", o.top_k,
                 "Draws each token from this number of most probable tokens. 0 means all tokens")
      ->capture_default_str();
  app.add_option("--top-p", o.top_p,
                 "Draws each token from the smallest set of most probable tokens that together "
                 "have this probability")
      ->capture_default_str();
  app.add_option("--repetition-penalty", o.repetition_penalty,
                 "If more than 1, tokens that are already in the prompt or the text become less "
                 "probable, as in Hugging Face transformers")
      ->capture_default_str();
  app.add_option("--stop", o.stop,
                 "Ends a text after the first token that completes this string. This option may be "
                 "given several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("TEXT");
  app.add_flag("--hide-stop", o.hides_stop,
               "Leaves out the string of --stop at the end of the text");
  app.add_flag("--special-tokens", o.special_tokens,
               "Reads names of special tokens in prompts, such as <|endoftext|>, as special tokens "
               "and not as text");
  c.seed = app.add_option("--seed", o.seed, "Seed of the random numbers")->capture_default_str();
  app.add_option("--batch-size", o.batch_size,
                 "Number of prompts that are continued at the same time")
      ->capture_default_str();
  app.add_option("--dtype", c.dtype, "Type of the numbers: f32, bf16 or f16")
      ->capture_default_str();
  app.add_option("--device", o.device, "Device that computes the model: auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  app.add_option(
         "--compute-threads", o.compute_threads,
         "Number of threads that compute the model on a CPU. 0 means one thread for each core")
      ->capture_default_str();
  app.add_option("--tensor-parallel", o.tensor_parallel,
                 "Number of processes that share each block and the vocabulary of the network")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option("--pipeline-parallel", o.pipeline_parallel,
                 "Number of processes among which the blocks of the network are divided")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  ffkit::add_launch_options(app, c.launch,
                            "Number of processes to start on this machine. 0 means as many "
                            "processes as share the network");
  app.add_flag("--stream,!--no-stream", c.stream,
               "Prints each text while it is generated, one text after the other. The default is "
               "on if the output is a terminal");
  app.add_flag("--json", c.json, "Prints one JSON object for each text, each on its own line");
  app.add_flag("--quiet", c.quiet, "Does not print the speed");
}

// Of this process among those that share the network; starts these where no other program has. The
// status of those that were started.
std::optional<int> launch(int argc, char** argv, GenerateCommand& c, ffkit::ProcessPlace& place) {
  const int64_t shared = c.options.tensor_parallel * c.options.pipeline_parallel;
  // Nothing to share: whatever started it, it is alone.
  if (shared == 1 && c.launch.num_processes <= 1) return std::nullopt;
  const ffkit::Environment environment = ffkit::environment_seeing(c.options.device);
  ffkit::LaunchPlan plan = ffkit::plan_launch(c.launch, environment);
  if (plan.place.launcher == ffkit::Launcher::none && c.launch.num_processes == 0) {
    plan.num_processes = int(shared);
    plan.place.world_size = plan.place.local_world_size = int(shared);
  }
  place = plan.place;
  if (plan.num_processes > 0) {
    c.launch.program = "ffgenerate";
    c.launch.marks_output = false;
    return ffkit::run_local_processes(plan, c.launch, std::vector<std::string>(argv, argv + argc));
  }
  if (c.launch.bind_numa) ffkit::bind_to_numa_node(place, environment);
  return std::nullopt;
}

bool draws(const ffkit::GenerateOptions& o) {
  return o.temperature ? *o.temperature > 0 : o.top_k > 0 || o.top_p < 1;
}

void print_json(const std::string& prompt, const ffkit::GeneratedText& text) {
  nlohmann::ordered_json line = {{"prompt", prompt},
                                 {"text", text.text},
                                 {"tokens", text.tokens.size()},
                                 {"ended", text.has_ended}};
  if (!text.stop.empty()) line["stop"] = text.stop;
  line["ids"] = text.tokens;
  fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

int generate(int argc, char** argv, GenerateCommand& c) {
  if (c.json && c.stream.value_or(false)) throw CLI::ExcludesError("--stream", "--json");
  c.options.type = ffkit::from_name<ffkit::GenerateType>(c.dtype);
  std::vector<std::string> prompts =
      c.prompts_file.empty() ? c.prompts : ffkit::read_prompts(c.prompts_file);
  if (prompts.empty()) prompts.emplace_back();
  ffkit::ProcessPlace place;
  if (const std::optional<int> status = launch(argc, argv, c, place)) {
    if (*status == 0) ffkit::require_written_stdout();
    return *status;
  }
  const bool streams = c.stream.value_or(!c.json && isatty(STDOUT_FILENO) != 0);
  if (streams && place.rank == 0) {
    c.options.on_text = [](size_t /*prompt*/, std::string_view piece, bool is_last) {
      fmt::print("{}{}", piece, is_last ? "\n" : "");
      ffkit::require_written_stdout();  // also shows it
    };
  }
  const ffkit::GenerateResult result = ffkit::generate_texts(c.options, prompts, place);
  if (place.rank != 0) return 0;
  for (size_t i = 0; i < prompts.size() && !streams; ++i) {
    if (c.json) {
      print_json(prompts[i], result.texts[i]);
    } else {
      fmt::print("{}\n", result.texts[i].text);
    }
  }
  if (c.seed->count() > 0 && !draws(c.options)) {
    fmt::print(
        stderr,
        "ffgenerate: note: --seed has no effect on the likeliest tokens; give --temperature, "
        "--top-k or --top-p to draw\n");
  }
  for (const std::string& note : result.notes) fmt::print(stderr, "ffgenerate: note: {}\n", note);
  ffkit::require_written_stdout();
  if (!c.quiet) {
    fmt::print(stderr, "{} tokens in {:.2f} s, {:.1f} tokens/s\n", result.num_tokens,
               result.seconds, double(result.num_tokens) / result.seconds);
  }
  return 0;
}

int run(int argc, char** argv) {
  ffkit::keep_freed_memory();
  GenerateCommand command;
  CLI::App app("Continues texts with a GPT-2.", "ffgenerate");
  app.footer(
      "Example:\n"
      "  ffgenerate --model gpt2 --prompt 'The tower is' --max-tokens 40 --temperature 0.8 --top-k "
      "40");
  app.set_version_flag("--version", "ffgenerate " FFKIT_VERSION);
  add_options(app, command);
  return ffkit::run_tool(app, argc, argv, [&] { return generate(argc, argv, command); });
}

}  // namespace

int ffkit::run_ffgenerate(int argc, char** argv) {
  return run_main("ffgenerate", [&] { return run(argc, argv); });
}
