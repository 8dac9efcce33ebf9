# A task that is not the library's (tests/cli/number_task.cpp): options, training on two processes,
# kill, resume, evaluation, results.
run 0 "$FFCONVERT" demo data --classes 4 --images 96 --val-images 18 --size 32 --quiet
options=(--task number --data data --side 8 --batch-size 8 --lr 0.003 --bias-lr 2 --epochs 80 --compute-threads 1)

# Its options stand under their own heading, and not with another task's.
run 0 "$TRAIN_NUMBER" --task number --help
out '^Number \(task number\):$'
out '--side INT'
out '^  number +a number from a picture.*--results writes a line for each record'
check ! grep -q '^  --arch' .stdout
run 0 "$TRAIN_NUMBER" --task classification --help
out '--arch NAME=resnet50 '
check ! grep -q '^  --side' .stdout
run 2 "$TRAIN_NUMBER" --task nothing --data data
one_line_err "--task is 'nothing'; it must be one of .*classification.*number"
run 1 "$TRAIN_NUMBER" "${options[@]}" --side 2
one_line_err '^fftrain: error: --side is 2; it must be at least 4$'
run 2 "$TRAIN_NUMBER" "${options[@]}" --arch resnet18
one_line_err 'arch'

# Both tasks fit this schema.
run 1 "$TRAIN_NUMBER" --data data
one_line_err 'data/train: the tasks classification, number can all train on this data set; choose one task with --task$'

# One undisturbed run of two processes, and one that is killed and continued: the same bytes.
run 0 "$TRAIN_NUMBER" "${options[@]}" --nproc 2 --work-dir straight
out '^.0. epoch 80/80  train loss [0-9.]+  val mean error [0-9.]+  worst [0-9.]+  lr '
out '^.0. best mean error [0-9.]+ \(epoch [0-9]+\), last [0-9.]+; '
check grep -Fxq 'task = "number"' straight/config.toml
check grep -Fxq 'side = 8' straight/config.toml
"$TRAIN_NUMBER" "${options[@]}" --nproc 2 --work-dir killed >.out 2>.err &
trainer=$!
validated() { [ "$(grep -c validation killed/metrics.jsonl)" -ge 5 ]; }
await validated
kill -9 $trainer
wait $trainer 2>/dev/null
check test "$(ls killed/epoch-*.safetensors | wc -l)" -gt 0
check test ! -e killed/epoch-0080.safetensors
while pgrep -f "work-dir killed" >.pids; do sleep 0.02; done  # its processes end with it
run 0 "$TRAIN_NUMBER" "${options[@]}" --nproc 2 --work-dir killed --resume
check cmp straight/epoch-0080.safetensors killed/epoch-0080.safetensors

# The best is the lowest, in the units and metrics of the task.
check python3 -c 'import json
lines = [json.loads(l) for l in open("straight/metrics.jsonl")]
assert all("numbers_per_second" in l for l in lines if l["kind"] == "train")
found = [l for l in lines if l["kind"] == "validation"]
assert all(l["numbers"] == 18 for l in found), found
errors = [l["mean_error"] for l in found]
assert min(errors) < 0.9 * errors[0], errors
head = open("straight/epoch-0080.safetensors", "rb").read()
size = int.from_bytes(head[:8], "little")
header = json.loads(head[8:8 + size])
progress = json.loads(header["__metadata__"]["progress"])
assert progress["best_mean_error"] == min(errors) and progress["best_epoch"] == 1 + errors.index(min(errors)), progress
assert "task.steps" in header'

# Evaluation on two processes gives what training gave, and writes the results of both.
run 0 "$TRAIN_NUMBER" --evaluate straight --nproc 2 --results results.txt
out '^.0. val mean error [0-9.]+  worst [0-9.]+  18 numbers$'
check test "$(cut -d' ' -f1 results.txt | sort -n | tr '\n' ' ')" = "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 "
check python3 -c 'import json
rows = [abs(float(l.split()[1])) for l in open("results.txt")]
last = [json.loads(l) for l in open("straight/metrics.jsonl")][-1]
assert abs(sum(rows) / len(rows) - last["mean_error"]) < 1e-4, last'

# Another task's checkpoint is refused, and so is a confusion matrix of a task without classes.
run 1 "$TRAIN_NUMBER" --resume-from straight --task classification --data data --epochs 99
one_line_err 'belongs to the task number, but the task classification was asked for'
run 0 "$FFTRAIN" --data data --arch mobilenet_v3_small --image-size 32 --batch-size 8 --epochs 1 --limit-batches 1 --compute-threads 1 --work-dir pictures
run 1 "$TRAIN_NUMBER" --evaluate straight --confusion c.json
one_line_err 'the task number has no classes, so it has no confusion matrix$'
run 1 "$FFTRAIN" --evaluate pictures --results r.txt
one_line_err 'r.txt: must end in .jsonl or .csv$'
run 1 "$FFTRAIN" --evaluate straight
one_line_err "unknown task 'number'; expected one of bevformer, classification"

# It measures as every task does.
run 0 "$TRAIN_NUMBER" "${options[@]}" --bottleneck --limit-batches 3
out '^loader alone [0-9.]+, model alone [0-9.]+, both [0-9.]+ numbers/s; data wait'

# Two processes compute the number together, and two such teams share the pictures: what two
# processes make with a network each.
few=(--task number --data data --side 8 --global-batch-size 16 --lr 0.003 --compute-threads 1)
run 0 "$TRAIN_NUMBER" "${few[@]}" --epochs 4 --nproc 2 --work-dir whole
run 0 "$TRAIN_NUMBER" "${few[@]}" --epochs 4 --nproc 4 --team 2 --work-dir teams
check python3 "$cli_folder/compare_losses.py" whole/metrics.jsonl teams/metrics.jsonl 1e-5
run 1 "$TRAIN_NUMBER" "${options[@]}" --nproc 3 --team 2
err 'a network divided over 2 team needs a multiple of 2 processes, but 3 were started; start a multiple of 2 processes$'
# Another number of teams goes on with it, and evaluates each picture once.
run 0 "$TRAIN_NUMBER" "${few[@]}" --epochs 6 --nproc 2 --team 2 --work-dir teams --resume
run 0 "$TRAIN_NUMBER" --evaluate teams --nproc 3 --team 3
out '^.0. val mean error [0-9.]+  worst [0-9.]+  18 numbers$'
