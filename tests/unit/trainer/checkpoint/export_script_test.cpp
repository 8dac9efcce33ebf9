// The script beside exported weights, run by Python with a library of the test's own.
#include "export.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

// Takes what the script does with torch, and writes down what it is given.
constexpr char kTorch[] = R"(
from types import SimpleNamespace
def load(path, weights_only):
    return f'weights of {path.name}, {weights_only}'
export = SimpleNamespace(Dim=lambda name: name)
def to_onnx(model, inputs, dynamo, input_names, output_names, dynamic_shapes, verbose):
    text = [model, inputs, dynamo, input_names, output_names, dynamic_shapes, verbose]
    return SimpleNamespace(save=lambda path: open(path, 'w').write(str(text)))
onnx = SimpleNamespace(export=to_onnx)
)";
constexpr char kSafeTensors[] = R"(
def load_file(path):
    return f'safe weights of {path.name}'
)";

PythonModel python_model() {
  return {.packages = "torch other", .code = R"(
class Model(str):
    def eval(self):
        return str(self) + ' to evaluate'
make_model = Model
INPUTS = {'a': 1, '{4}{{b}}': 2}
OUTPUTS = ['c']
)"};
}

class ExportScript : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "there is no python3";
    testing::write_file(temp_ / "torch.py", kTorch);
    testing::write_file(temp_ / "safetensors/torch.py", kSafeTensors);
  }
  // Of weights called `name`; gives what the script is called.
  fs::path write(const std::string& name) const {
    const fs::path script = new_export_script(temp_ / name);
    write_export_script(script, temp_ / name, python_model());
    return script;
  }
  // With these arguments, from another folder.
  int run(const fs::path& script, const std::string& arguments) const {
    const std::string command = "cd / && PYTHONDONTWRITEBYTECODE=1 python3 \"" + script.string() +
                                "\" " + arguments + " > '" + (temp_ / "printed").string() + "'";
    return std::system(command.c_str());
  }

  testing::TempDir temp_;
};

TEST_F(ExportScript, WritesOnnxBesideItOrWhereItIsTold) {
  const fs::path script = write("my model.pth");
  EXPECT_EQ(script, temp_ / "my model.py");
  const std::string expected =
      "['weights of my model.pth, True to evaluate', (1, 2), True, ['a', '{4}{{b}}'], ['c'], "
      "({0: 'batch'}, {0: 'batch'}), False]";
  ASSERT_EQ(run(script, ""), 0);
  EXPECT_EQ(testing::read_file(temp_ / "my model.onnx"), expected);
  EXPECT_EQ(testing::read_file(temp_ / "printed"), (temp_ / "my model.onnx").string() + "\n");
  const fs::path other = temp_ / "other.onnx";
  ASSERT_EQ(run(script, other.string()), 0);
  EXPECT_EQ(testing::read_file(other), expected);
  EXPECT_EQ(testing::read_file(temp_ / "printed"), other.string() + "\n");
}

TEST_F(ExportScript, ReadsSafetensorsOfAnyName) {
  const fs::path script = write(R"(a'b\n.safetensors)");
  ASSERT_EQ(run(script, ""), 0);
  EXPECT_TRUE(testing::read_file(temp_ / R"(a'b\n.onnx)").starts_with("["));
}

TEST_F(ExportScript, NamesAreWhatTheyAre) {
  for (const std::string name : {"{1} <script> {2!r}.pth", "a\"\"\"b.pth", "two\nlines.pth"}) {
    const fs::path script = write(name);
    const std::string command =
        "cd '" + temp_.path().string() + "' && PYTHONDONTWRITEBYTECODE=1 python3 \"$SCRIPT\"";
    ASSERT_EQ(setenv("SCRIPT", script.c_str(), 1), 0);
    ASSERT_EQ(std::system((command + " > /dev/null").c_str()), 0) << name;
    const std::string written = testing::read_file(fs::path(script).replace_extension(".onnx"));
    EXPECT_TRUE(written.starts_with("[")) << name;
  }
}

TEST_F(ExportScript, SaysHowItIsRun) {
  const std::string with = testing::read_file(write("model.safetensors"));
  EXPECT_NE(with.find("\"\"\"Loads model.safetensors, weights that fftrain exported"),
            std::string::npos);
  EXPECT_NE(with.find("\n    pip install torch other safetensors onnx onnxscript\n"),
            std::string::npos);
  EXPECT_NE(with.find("\n    python model.py [model.onnx]\n"), std::string::npos);
  const std::string without = testing::read_file(write("old.pth"));
  EXPECT_NE(without.find("\n    pip install torch other onnx onnxscript\n"), std::string::npos);
}

TEST_F(ExportScript, ReplacesNoFile) {
  write("model.pth");
  EXPECT_ERROR(new_export_script(temp_ / "model.safetensors"), invalid_argument,
               .path = temp_ / "model.py");
}

}  // namespace
}  // namespace ffkit
