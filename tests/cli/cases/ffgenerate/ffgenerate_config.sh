# config.json has one reader: its layer_norm_epsilon and eos_token_id count, and new tokens get
# rows.
mkdir -p corpus/train corpus/val model
for i in 1 2 3 4; do printf 'the old tower sees the new river and a house under it %d.\n' $i >corpus/train/$i.txt; done
cp corpus/train/1.txt corpus/val
run 0 "$FFCONVERT" text corpus tokens --tokenizer bytes --quiet
sizes=(--task gpt2 --arch gpt2 --layers 1 --heads 2 --width 16 --positions 64 --context 16 --compute-threads 1)
train=("$FFTRAIN" --data tokens "${sizes[@]}" --batch-size 2 --steps 1 --epochs 1)
run 0 "${train[@]}" --layer-norm-epsilon 0.3 --work-dir run
loss=$(sed -n 's/.*val loss \([0-9.]*\) .*/\1/p' "$work/.stdout")
run 0 "$FFTRAIN" --export run --output model/model.safetensors
check grep -q '"layer_norm_epsilon": 0.3' model/config.json
run 0 "$FFTRAIN" --evaluate model --data tokens "${sizes[@]}"
out "^val loss $loss "
# A run that begins with them keeps it.
run 0 "${train[@]}" --pretrained model --lr 1e-12 --vocabulary 300 --resize-vocabulary --work-dir next
out '^model: its network has 257 tokens, but this one has 300: the rows of new tokens start as the mean of the other rows$'
check grep -Fxq 'layer-norm-epsilon = 0.3' next/config.toml
run 1 "${train[@]}" --pretrained model --vocabulary 300
one_line_err 'model/config.json: the file belongs to a GPT-2 with 257 tokens, but this network has 300 tokens; give --resize-vocabulary'
run 1 "${train[@]}" --pretrained model --layer-norm-epsilon 0.1
one_line_err 'belongs to a network with a layer_norm_epsilon of 0.3, but --layer-norm-epsilon is 0.1'

# A token that comes ends the text where config.json, or before it generation_config.json, says so.
generate=("$FFGENERATE" --model model --compute-threads 1 --max-tokens 8 --prompt the --json --quiet)
run 0 "${generate[@]}"
json 'len(d["ids"]) == 8 and not d["ended"]'
token=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["ids"][0])' "$work/.stdout")
sed -i 's/"eos_token_id": 256/"eos_token_id": [256, '"$token"']/' model/config.json
run 0 "${generate[@]}"
json 'len(d["ids"]) == 1 and d["ended"]'
echo '{"eos_token_id": 256, "num_beams": 2}' >model/generation_config.json
run 0 "${generate[@]}"
json 'len(d["ids"]) == 8'
one_line_err 'note: model/generation_config.json: has num_beams 2, which ffgenerate ignores'
