# ffgenerate: files of prompts, what is drawn from, stop strings, streaming, special tokens.
mkdir -p corpus/train corpus/val
for i in 1 2 3 4; do printf 'the old tower sees the new river and a house under it %d.\n' $i >corpus/train/$i.txt; done
cp corpus/train/1.txt corpus/val
run 0 "$FFCONVERT" text corpus tokens --tokenizer bytes --quiet
run 0 "$FFTRAIN" --data tokens --task gpt2 --layers 1 --heads 2 --width 16 --positions 64 --context 16 --batch-size 2 --steps 2 --epochs 1 --compute-threads 1 \
  --work-dir run
generate=("$FFGENERATE" --model run --compute-threads 1 --max-tokens 12)

# Line ends of all systems, a byte order mark, and no line end at the end.
printf 'the old\nriver\n\nx' >unix
printf '\xef\xbb\xbfthe old\r\nriver\r\n\r\nx\r\n' >marked
printf 'the old\rriver\r\rx\r' >mac
run 0 "${generate[@]}" --prompts unix --json --quiet
no_err
check test "$(wc -l <"$work/.stdout")" = 4
out '^{"prompt":"the old","text":"the old.*","tokens":12,"ended":false,"ids":\['
cp "$work/.stdout" expected
for file in marked mac; do
  run 0 "${generate[@]}" --prompts $file --json --quiet
  check cmp expected "$work/.stdout"
done
# What is no text of UTF-8 is named.
printf '\xff\xfet\0h\0e\0' >utf16
printf 'a\0b\n' >binary
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' >pointer
printf '\xef\xbb\xbf' >mark
mkdir models
for file in "utf16: is UTF-16 text" "binary: is data of an unknown kind" "pointer: is a Git LFS pointer" "mark: has no prompt" "models: is a folder"; do
  run 1 "${generate[@]}" --prompts "${file%%:*}"
  one_line_err "$file"
done

# --top-k and --top-p draw; with --temperature 0 they contradict it.
run 0 "${generate[@]}" --prompt the --quiet
cp "$work/.stdout" likeliest
run 0 "${generate[@]}" --prompt the --temperature 1 --top-k 40 --seed 5 --quiet
cp "$work/.stdout" drawn
check ! cmp -s likeliest drawn
run 0 "${generate[@]}" --prompt the --top-k 40 --seed 5 --quiet
check cmp drawn "$work/.stdout"
# Each prompt draws numbers of its own.
printf 'the\nthe\nthe\n' >equal
run 0 "${generate[@]}" --prompts equal --temperature 1 --seed 5 --json --quiet
check test "$(sort -u "$work/.stdout" | wc -l)" = 3
run 1 "${generate[@]}" --prompt the --temperature 0 --top-k 40
one_line_err '--temperature 0 always takes the likeliest token, but --top-k and --top-p draw one'
run 0 "${generate[@]}" --prompt the --seed 5
err 'note: --seed has no effect on the likeliest tokens; give --temperature, --top-k or --top-p to draw'
check cmp likeliest "$work/.stdout"

# A stop string, shown and hidden; what is streamed is what is printed in the end.
text=$(cat likeliest)
stop=${text:5:2}
run 0 "${generate[@]}" --prompt the --stop "$stop" --stop never --json --quiet
json 'd["text"].endswith(d["stop"]) and len(d["stop"]) == 2 and len(d["ids"]) < 12 and not d["ended"]'
run 0 "${generate[@]}" --prompt the --stop "$stop" --hide-stop --quiet
check test "$(wc -c <"$work/.stdout")" -le 6
run 0 "${generate[@]}" --prompts unix --quiet
cp "$work/.stdout" whole
run 0 "${generate[@]}" --prompts unix --quiet --stream
check cmp whole "$work/.stdout"
run 2 "${generate[@]}" --prompt the --stream --json

# The name of a special token is text unless it is asked for.
run 0 "${generate[@]}" --prompt '<|endoftext|>the' --json
err 'note: <\|endoftext\|> in a prompt is read as normal text; give --special-tokens to read it as the token'
run 0 "${generate[@]}" --prompt '<|endoftext|>the' --special-tokens --json --quiet
no_err
json 'd["text"].startswith("<|endoftext|>the")'
