# GPT-2 from texts to texts: training, a mesh of processes and its checkpoints, Hugging Face's
# folders, generation.
python3 - <<'PYTHON'
import os, random

random.seed(1)
words = "the a tower house river sees builds finds old new red and then under".split()
for split, count in (("train", 40), ("val", 6)):
    os.makedirs(f"corpus/{split}")
    for i in range(count):
        with open(f"corpus/{split}/{i:02}.txt", "w") as file:
            file.write(" ".join(random.choice(words) for _ in range(60)) + ".\n")
PYTHON
run 0 "$FFCONVERT" text corpus tokens --tokenizer bytes --quiet
sizes=(--layers 3 --heads 2 --width 16 --positions 32 --dropout 0)
options=(--data tokens --task gpt2 "${sizes[@]}" --context 24 --optimizer adamw --lr 1e-2 --clip-grad-norm 1 --global-batch-size 16 --limit-batches 12 --log-every 1
  --compute-threads 1)

# Its task is found by the schema, and its options stand under their own headings.
run 0 "$FFTRAIN" --task gpt2 --help
out '^Mesh of processes \(task gpt2\):$'
run 0 "$FFTRAIN" "${options[@]:2}" --data tokens --epochs 2 --work-dir whole
out '^GPT-2 of 14496 parameters: [0-9.e-]+ GFLOP per token in training, context 24$'
out '^epoch 2/2  train loss [0-9.]+  val loss [0-9.]+  perplexity [0-9.]+  lr '
check grep -q '"kind":"validation".*"loss":.*"perplexity":.*"tokens":' whole/metrics.jsonl
check grep -Fxq 'task = "gpt2"' whole/config.toml

# Its texts are ffgenerate's.
run 1 "$FFTRAIN" --predict whole --data tokens --results texts.jsonl
one_line_err 'the task gpt2 makes no predictions; to continue texts, run ffgenerate --model RUN --prompt TEXT$'
run 1 "$FFTRAIN" --evaluate whole --results texts.jsonl
one_line_err 'the task gpt2 writes no results; leave --results out$'

# Four processes have a part each: the same losses; their checkpoint is continued by one, and the
# other way round.
run 0 "$FFTRAIN" "${options[@]}" --epochs 2 --work-dir mesh --nproc 4 --tensor-parallel 2 --pipeline-parallel 2 --micro-batches 2
out 'a pipeline of 2 stages waits 33.3 % of a step with 2 micro-batches'
check python3 "$cli_folder/compare_losses.py" whole/metrics.jsonl mesh/metrics.jsonl 1e-5
# Each process has written its part.
check test "$(ls mesh)" = "config.toml
epoch-0001.parts
epoch-0002.parts
$(cd mesh && ls events.*)
metrics.jsonl"
check test "$(ls mesh/epoch-0002.parts)" = "manifest.safetensors
part-00000.safetensors
part-00001.safetensors
part-00002.safetensors
part-00003.safetensors"
one=(--tensor-parallel 1 --pipeline-parallel 1 --micro-batches 1 --data-parallel 1 --compute-threads 1)
run 0 "$FFTRAIN" --resume-from mesh/epoch-0001.parts/ "${one[@]}" --work-dir continued
check test -e continued/epoch-0002.safetensors
check python3 "$cli_folder/compare_losses.py" <(grep '"epoch":2' whole/metrics.jsonl) continued/metrics.jsonl 1e-5
run 0 "$FFTRAIN" --resume-from whole/epoch-0001.safetensors --nproc 2 --tensor-parallel 2 --compute-threads 1 --work-dir divided
check python3 "$cli_folder/compare_losses.py" <(grep '"epoch":2' whole/metrics.jsonl) divided/metrics.jsonl 1e-5
# Another mesh, with the optimiser's state and the positions divided as well; then one process
# again.
run 0 "$FFTRAIN" --resume-from mesh/epoch-0001.parts --nproc 4 --tensor-parallel 2 --pipeline-parallel 1 --micro-batches 1 --sequence-parallel --shard-optimizer \
  --compute-threads 1 --work-dir sharded
check python3 "$cli_folder/compare_losses.py" <(grep '"epoch":2' whole/metrics.jsonl) sharded/metrics.jsonl 1e-5
run 0 "$FFTRAIN" "${options[@]}" --epochs 2 --work-dir shares --nproc 2 --shard-optimizer
check test "$(ls shares/epoch-0001.parts | wc -l)" = 3
check python3 "$cli_folder/compare_losses.py" whole/metrics.jsonl shares/metrics.jsonl 1e-5
run 0 "$FFTRAIN" --resume-from shares/epoch-0001.parts --no-shard-optimizer --compute-threads 1 --work-dir joined
check test -e joined/epoch-0002.safetensors
check python3 "$cli_folder/compare_losses.py" <(grep '"epoch":2' whole/metrics.jsonl) joined/metrics.jsonl 1e-5
run 0 "$FFTRAIN" --resume-from whole/epoch-0001.safetensors --nproc 2 --shard-optimizer --compute-threads 1 --work-dir divided-state
check python3 "$cli_folder/compare_losses.py" <(grep '"epoch":2' whole/metrics.jsonl) divided-state/metrics.jsonl 1e-5
run 0 "$FFTRAIN" "${options[@]}" --steps 1 --pretrained mesh --nproc 2 --tensor-parallel 2
out 'epoch 1/1  train loss [0-3]\.'
# A part that is not there, or not whole: the run goes back one, whatever reads it.
cp -r mesh damaged
rm damaged/epoch-0002.parts/part-00002.safetensors
run 1 "$FFTRAIN" --evaluate damaged/epoch-0002.parts "${one[@]}"
one_line_err 'damaged/epoch-0002.parts/part-00002.safetensors: this part of the checkpoint is missing, so the checkpoint is damaged; use the previous checkpoint'
run 0 "$FFTRAIN" "${options[@]}" --epochs 2 --work-dir damaged --resume --tensor-parallel 1 --pipeline-parallel 1 --micro-batches 1
out 'damaged/epoch-0002.parts/part-00002.safetensors: .*; this checkpoint is renamed to \*.damaged, and the previous one is used'
check test -e damaged/epoch-0002.parts.damaged -a -e damaged/epoch-0002.safetensors
check python3 "$cli_folder/compare_losses.py" whole/metrics.jsonl damaged/metrics.jsonl 1e-5
run 0 "$FFTRAIN" --evaluate mesh "${one[@]}"
loss=$(sed -n 's/^val loss \([0-9.]*\) .*/\1/p' "$work/.stdout")

# Greedy text is the same alone, beside others of other lengths, and from the exported folder.
printf 'the old tower\na\n\n' >prompts
run 0 "$FFGENERATE" --model mesh --prompts prompts --max-tokens 16 --compute-threads 1
err '^4[0-9] tokens in [0-9.]+ s, [0-9.]+ tokens/s$'
check test "$(sed -n '1{/^the old tower/p}' "$work/.stdout")"
cp "$work/.stdout" together
mkdir model
run 0 "$FFTRAIN" --export mesh --output model/model.safetensors
check test -e model/config.json -a -e model/tokenizer.json
run 0 "$FFGENERATE" --model model --prompts prompts --batch-size 1 --max-tokens 16 --quiet --compute-threads 1
no_err
check cmp together "$work/.stdout"
run 0 "$FFGENERATE" --model model --prompts prompts --max-tokens 16 --temperature 1 --top-k 20 --top-p 0.9 --seed 3 --compute-threads 1
cp "$work/.stdout" drawn
check ! cmp -s together drawn
run 0 "$FFGENERATE" --model mesh --prompts prompts --max-tokens 16 --temperature 1 --top-k 20 --top-p 0.9 --seed 3 --batch-size 2 --compute-threads 1
check cmp drawn "$work/.stdout"
# Two processes or four write the same texts: of a run, of a folder, the likeliest and drawn ones.
run 0 "$FFGENERATE" --model mesh --prompts prompts --max-tokens 16 --compute-threads 1 --nproc 4 --tensor-parallel 2 --pipeline-parallel 2
check cmp together "$work/.stdout"
err '^\[0\] 4[0-9] tokens in '
run 0 "$FFGENERATE" --model model --prompts prompts --max-tokens 16 --temperature 1 --top-k 20 --top-p 0.9 --seed 3 --compute-threads 1 --pipeline-parallel 3 --quiet
no_err
check cmp drawn "$work/.stdout"
run 0 "$FFGENERATE" --model model --prompts prompts --batch-size 2 --max-tokens 16 --compute-threads 1 --tensor-parallel 2 --quiet
check cmp together "$work/.stdout"
# Processes that another program started, as torchrun does: rank 0 alone prints.
generate=("$FFGENERATE" --model mesh --prompts prompts --max-tokens 16 --compute-threads 1 --tensor-parallel 2 --dist-init-method "file://$PWD/meeting" --quiet)
launched=(env WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1)  # they meet at a file
"${launched[@]}" RANK=1 LOCAL_RANK=1 "${generate[@]}" >other 2>&1 &
run 0 "${launched[@]}" RANK=0 LOCAL_RANK=0 "${generate[@]}"
wait $!
check cmp together "$work/.stdout"
check test ! -s other
run 0 "$FFTRAIN" --evaluate model --arch gpt2 "${sizes[@]}" --context 24 --limit-batches 12 --data tokens --task gpt2 --compute-threads 1
out "^val loss $loss "

# A plain GPT-2 in Python has the same logits, and so the same greedy text.
if [ -n "${FFKIT_REFERENCE_PYTHON:-}" ]; then
  mkdir python
  run 0 "$FFTRAIN" --export mesh --output python/pytorch_model.bin
  run 0 "$FFKIT_REFERENCE_PYTHON" "$cli_folder/plain_gpt2.py" python/pytorch_model.bin 2 'the old tower' 16
  check test "$(head -1 together)" = "$(cat "$work/.stdout")"
fi

# Mistakes are one sentence before training starts.
expect() {
  run "$1" "${@:3}"
  one_line_err "$2"
}
expect 1 '--context is 33; it must be between 1 and 32, the positions of the network, or 0' "$FFTRAIN" "${options[@]}" --context 33
expect 1 '--vocabulary 200 is less than the data.s 257 tokens; give at least 257' "$FFTRAIN" "${options[@]}" --vocabulary 200
expect 1 '--data-parallel 2 x --pipeline-parallel 1 x --tensor-parallel 1 need 2 processes, but 1 were started; start 2' "$FFTRAIN" "${options[@]}" --data-parallel 2
expect 1 'config.json: the file belongs to a GPT-2 with 2 heads, but this network has 4 heads' "$FFTRAIN" "${options[@]}" --heads 4 --pretrained model
expect 1 '13 tokens of a prompt and 20 new ones are more than the network.s 32 positions; give --max-tokens 19 or fewer' \
  "$FFGENERATE" --model model --prompt 'the old tower' --max-tokens 20
expect 2 '--model is required' "$FFGENERATE" --prompt x
run 1 "$FFGENERATE" --model model --nproc 2 --tensor-parallel 1 --prompt x --max-tokens 4
err '--tensor-parallel 1 x --pipeline-parallel 1 need 1 processes, but 2 were started; start 1'
run 1 "$FFGENERATE" --model model --tensor-parallel 3 --prompt x --max-tokens 4
err '2 heads cannot be divided among 3 processes of --tensor-parallel; give a divisor of 2'
expect 1 '--sequence-parallel is on; it must be off without --tensor-parallel' "$FFTRAIN" "${options[@]}" --sequence-parallel
expect 1 '--shard-optimizer is on; it must be off with --optimizer lars' "$FFTRAIN" "${options[@]}" --shard-optimizer --optimizer lars
expect 1 'config.json: exists, but the export would write this file, too' "$FFTRAIN" --export mesh --output model/pytorch_model.bin
# What is refused is not written in part.
mkdir taken && touch taken/config.json
run 1 "$FFTRAIN" --export whole --output taken/model.safetensors
one_line_err 'taken/config.json: exists, but the export would write this file, too'
check ! test -e taken/model.safetensors
