# A damaged checkpoint of its own costs a run one checkpoint, for ffgenerate as for fftrain.
mkdir -p corpus/train corpus/val
for i in 1 2 3 4 5 6; do echo "the old tower sees the new river $i" >corpus/train/$i.txt; done
cp corpus/train/1.txt corpus/val
run 0 "$FFCONVERT" text corpus tokens --tokenizer bytes --quiet
run 0 "$FFTRAIN" --data tokens --task gpt2 --layers 1 --heads 2 --width 16 --positions 32 --context 16 --batch-size 2 --epochs 3 --lr 0.03 --optimizer adamw \
  --keep-checkpoints 0 --compute-threads 1 --work-dir run
generate=("$FFGENERATE" --prompt 'the old' --max-tokens 16 --temperature 1 --compute-threads 1 --quiet)
for epoch in 1 2 3; do
  run 0 "${generate[@]}" --model run/epoch-000$epoch.safetensors
  no_err
  cp "$work/.stdout" text$epoch
done
check ! cmp -s text2 text3
run 0 "${generate[@]}" --model run
check cmp text3 "$work/.stdout"
size=$(stat -c %s run/epoch-0003.safetensors)
# One byte of its description, too: the name by which it says that it is a checkpoint, or what says
# where the description is.
export LC_ALL=C
flips=("sed -i s/ffkit_checkpoint/ffkit_chfckpoint/" "sed -i s/__metadata__/__mftadata__/")
for damage in "${flips[@]}" "truncate -s -1000" "truncate -s 0" "eval truncate -s 0 one/epoch-0003.safetensors; truncate -s $size"; do
  for processes in "" "--tensor-parallel 2"; do
    rm -rf one && cp -r run one
    $damage one/epoch-0003.safetensors
    run 0 "${generate[@]}" --model one $processes
    check cmp text2 "$work/.stdout"
    err 'note: one/epoch-0003.safetensors: .*; this checkpoint is renamed to \*.damaged, and the previous one is used$'
    check test -e one/epoch-0003.safetensors.damaged -a ! -e one/epoch-0003.safetensors
    run 0 "${generate[@]}" --model one $processes
    no_err
  done
done
# The file itself, and all of them.
for flip in "${flips[@]}"; do
  cp run/epoch-0003.safetensors one
  $flip one/epoch-0003.safetensors
  run 1 "${generate[@]}" --model one/epoch-0003.safetensors
  one_line_err 'one/epoch-0003.safetensors: .*damaged'
done
cp run/epoch-0003.safetensors one
truncate -s 100 one/epoch-000?.safetensors
run 1 "${generate[@]}" --model one/epoch-0003.safetensors
one_line_err 'one/epoch-0003.safetensors: .*damaged'
before=$(ls one)
run 1 "${generate[@]}" --model one
one_line_err 'one: the work folder contains no undamaged checkpoint'
check test "$before" = "$(ls one)"
