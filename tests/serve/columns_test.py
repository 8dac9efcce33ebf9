#!/usr/bin/env python3
"""Columns of all types: filters, bars, order, what is no number; damaged records; texts; lists of records; vectors; two results."""
import json
import pathlib
import struct
import subprocess
import tempfile
import unittest

import ffkit
import numpy as np

from answers_test import png
from served import FFCONVERT, FFINSPECT, Server, run

INF, NAN = float('inf'), float('nan')
ODD = ['a b', 'or', '"x"', '(k)']
VALUES = {
    'u8': [0, 255, 7, 7, 0] * 12, 'i8': [-128, 127, 0, 5, 5] * 12, 'u16': list(range(0, 60000, 1000)), 'i16': list(range(-30000, 30000, 1000)),
    'u32': [2**32 - 1, 0, 5] * 20, 'i32': list(range(1900, 1960)), 'u64': [2**64 - 1 - n * (2**63 // 59) for n in range(59)] + [2**63],
    'i64': [2**53 + n for n in range(30)] + [-2**63, 2**63 - 1] + list(range(28)),
    'f16': [NAN, INF, -INF, 0.1, 65504, 6e-8] + [n / 7 for n in range(54)], 'f32': [NAN, 0.1, 3e38, -3e38] + [n / 7 for n in range(56)],
    'bf16': [INF, 0.1, 3e38] + [n / 7 for n in range(57)], 'f64': [NAN, NAN, -1.7e308, 1.7e308, 0.1] + [n / 7 for n in range(55)],
}


prepare = ffkit._samples._prepare_scalar
# No type of Python or NumPy is a bf16: the upper half of a float.
ffkit._samples._prepare_scalar = lambda field, value: struct.pack('<f', value)[2:] if field.dtype == 'bf16' else prepare(field, value)


def write(folder, schema, records, split='train', **options):
    with ffkit.Writer(folder, schema=schema, split=split, **options) as writer:
        for record in records:
            writer.write(record)


class Numbers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = pathlib.Path(cls.folder.name) / 'set'
        records = [{**{name: values[n] for name, values in VALUES.items()}, **{name: n % 3 for name in ODD}, 'id': f'r{n}'} for n in range(60)]
        write(cls.data, {**{name: name for name in VALUES}, **{name: 'i32' for name in ODD}, 'id': ffkit.Field('string', column=True)}, records)
        cls.server = Server(cls.data)
        cls.dataset = ffkit.Dataset(cls.data, 'train')

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        cls.folder.cleanup()

    def found(self, where):
        rows = self.server.api('rows', split='train', where=where, count=1000)['rows']
        listed = [json.loads(line, parse_constant=self.fail)['record'] for line in run(FFINSPECT, 'ls', self.data, '--where', where, '--json').splitlines()]
        self.assertEqual([row['record'] for row in rows], listed, where)
        self.assertEqual(len(self.dataset.where(where)), len(listed), where)
        return listed

    def test_a_bar_has_as_many_records_as_its_click_finds(self):
        self.assertEqual(set(self.server.api('set')['splits'][0]['bars']), {*VALUES, *ODD})
        for name in [*VALUES, *ODD]:
            bins = self.server.api('histogram', split='train', field=name)['bins']
            self.assertEqual(sum(one['num_records'] for one in bins), 60, name)
            for one in bins:
                self.assertEqual(one['where'] is None, one['num_records'] == 0)
                if one['where']:
                    self.assertEqual(self.server.api('find', split='train', where=one['where'])['num_records'], one['num_records'], (name, one))
        self.assertEqual([one['first'] for one in self.server.api('histogram', split='train', field='u8')['bins']], [0, 7, 255])
        bins = self.server.api('histogram', split='train', field='i32', where='u8 == 7 or i8 == 5')['bins']
        self.assertEqual(sum(one['num_records'] for one in bins), len(self.found('u8 == 7 or i8 == 5')))

    def test_unsigned_numbers(self):
        self.assertEqual(len(self.found('u64 > 100')), 60)
        self.assertEqual(self.found('u64 < 0'), [])
        self.assertEqual(self.found(f'u64 == {2**64 - 1}'), [0])
        self.assertEqual(self.dataset.column('u64').tolist(), VALUES['u64'])
        self.assertEqual(self.dataset.column('u64').dtype, np.uint64)
        rows = self.server.api('rows', split='train', sort='u64', count=100)['rows']
        self.assertEqual([int(row['value']) for row in rows], sorted(VALUES['u64']))
        stats = {column['name']: column for column in json.loads(run(FFINSPECT, 'stats', self.data, '--json'))['splits'][0]['columns']}
        self.assertEqual((stats['u64']['max'], stats['u64']['min']), (2**64 - 1, min(VALUES['u64'])))

    def test_large_integers_are_exact(self):
        self.assertEqual(self.found(f'i64 == {2**53 + 1}'), [1])
        rows = self.server.api('rows', split='train', sort='i64', count=100, columns=1)['rows']
        self.assertEqual([int(row['columns']['i64']) for row in rows], sorted(VALUES['i64']))

    def test_what_is_no_number(self):
        self.assertEqual(self.found('f64 == nan'), [0, 1])
        self.assertEqual(self.found('f16 == inf or f16 == -inf'), [1, 2])
        self.assertEqual(self.found('f32 == 0.1 and f64 != nan'), self.found('f32 in {0.1..0.1} and not f64 == nan'))
        self.assertEqual(self.found('f16 == 0.1'), [3])
        printed = json.loads(run(FFINSPECT, 'cat', self.data, 0, '--json'), parse_constant=self.fail)
        self.assertEqual((printed['fields']['f64'], printed['fields']['f16'], printed['fields']['bf16']), ('nan', 'nan', 'inf'))
        fields = {field['name']: field for field in self.server.api('record', split='train', record=2)['fields']}
        self.assertEqual((fields['f16']['text'], fields['f16']['value']), ('-inf', '-inf'))
        json.loads(run(FFINSPECT, 'stats', self.data, '--json'), parse_constant=self.fail)

    def test_odd_names_stand_in_quotes(self):
        words = {field['name']: field['word'] for field in self.server.api('set')['splits'][0]['fields']}
        for name in ODD:
            self.assertEqual(len(self.found(f'{words[name]} == 1 and (id != x)')), 20, name)

    def test_lists_of_records(self):
        self.assertEqual([row['record'] for row in self.server.api('rows', split='train', records='3-5,9,4')['rows']], [3, 4, 5, 9])
        self.assertEqual([row['record'] for row in self.server.api('rows', split='train', records='0-9000000000000', where='u8 == 7', count=1000)['rows']], self.found('u8 == 7'))
        self.assertEqual(self.server.get('list', split='train', records='58,1', **{'as': 'ids'}).body, b'r1\nr58\n')
        self.assertEqual(self.server.get('list', split='train', sort='id', **{'as': 'numbers', 'from': 1, 'count': 2}).body, b'1\n10\n')
        for wrong in '3-', 'x', '5-3', '1,,2', '-1':
            self.assertEqual(self.server.get('api/rows', split='train', records=wrong).status, 400, wrong)


class Damaged(unittest.TestCase):
    def test_one_damaged_record_leaves_its_neighbours(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / 'set'
            write(data, {'image': 'image', 'label': 'i64', 'id': ffkit.Field('string', column=True), 'note': 'tensor[u8]'},
                  [{'image': png(8, 8, (n, 0, 0)), 'label': n % 2, 'id': f'r{n}', 'note': np.full(300, n, np.uint8)} for n in range(30)], classes=['cat', 'dog'])
            shard = next((data / 'train').glob('*.ffr'))
            content = bytearray(shard.read_bytes())
            at = content.index(bytes([11]) * 300)
            content[at + 7] ^= 0xFF
            at = content.index(b'r11')
            content[at] ^= 0x01
            shard.write_bytes(content)
            with Server(data) as server:
                rows = server.api('rows', split='train', where='label in {0, 1}')['rows']
                self.assertEqual([row['record'] for row in rows], list(range(30)))
                self.assertEqual([bool(row['problem']) for row in rows], [n == 11 for n in range(30)])
                self.assertEqual((rows[11]['id'], rows[11]['label'], rows[11]['class']), ('r11', 1, 'dog'))
                self.assertIsNone(rows[12]['problem'])
                record = server.api('record', split='train', record=11)
                self.assertIn('damaged', record['problem'])
                self.assertEqual((record['id'], record['class']), ('r11', 'dog'))
                self.assertEqual({field['name'] for field in record['fields'] if field.get('problem')}, {'id', 'note'})
                self.assertIsNone(server.api('record', split='train', record=10)['problem'])
                found = server.api('find', split='train', text='r1', inside=1)
                self.assertEqual((found['num_records'], found['num_unread']), (11, 0))
                self.assertEqual(server.api('find', split='train', text='zz', inside=1)['num_unread'], 1)


class Texts(unittest.TestCase):
    def test_texts_inside_records(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / 'set'
            write(data, {'text': ffkit.Field('string'), 'tags': 'list[string]', 'n': 'i32', 'long': 'tensor[f32]'},
                  [{'text': f'Number {n} ' + 'x' * 5000, 'tags': [f'tag{n}'], 'n': n, 'long': np.arange(n * 200, dtype=np.float32)} for n in range(8)])
            with Server(data) as server:
                self.assertEqual(server.api('set')['splits'][0]['inside'], ['text', 'tags'])
                self.assertEqual(server.api('find', split='train', text='number 3')['num_records'], 0)
                self.assertEqual([row['record'] for row in server.api('rows', split='train', text='NUMBER 3', inside=1)['rows']], [3])
                self.assertEqual([row['record'] for row in server.api('rows', split='train', text='tag5', inside=1)['rows']], [5])
                fields = {field['name']: field for field in server.api('record', split='train', record=5)['fields']}
                self.assertEqual(len(fields['text']['text']), 5009)
                self.assertTrue(fields['long']['text'].endswith(', 999'))

    def test_characters_of_several_tokens(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            text = 'grüße 😀 ' * 700
            (folder / 'texts.jsonl').write_text(json.dumps({'text': text}) + '\n')
            run(FFCONVERT, 'text', folder / 'texts.jsonl', folder / 'set', '--tokenizer', 'bytes', '--order', 'sequential', '--quiet')
            with Server(folder / 'set') as server:
                record, at, pieces = 0, 0, []
                split = next(one for one in server.api('set')['splits'] if one['kind'] == 'tokens')
                for record in range(split['num_records']):
                    at = 0
                    while True:
                        answer = server.api('tokens', split=split['name'], record=record, **{'from': at})
                        pieces += answer['tokens']
                        at = answer['to']
                        if at >= answer['num_tokens']:
                            break
                whole = ''.join(piece['text'] for piece in pieces)
                self.assertEqual(whole[:len(text)], text)
                self.assertEqual({len(piece['ids']) for piece in pieces if piece['text'] in 'üß😀'}, {2, 4})
                self.assertGreater(server.api('find', split=split['name'], text='😀 gr', inside=1)['num_records'], 0)


class Vectors(unittest.TestCase):
    def test_map_and_neighbours(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / 'set'
            draw = np.random.default_rng(1)
            centres = draw.normal(size=(3, 40)) * 5
            vectors = [(centres[n % 3] + draw.normal(size=40)).astype(np.float16) for n in range(90)]
            records = [{'v': vector, 'boxes': np.zeros((2, 4), np.float32), 'label': n % 3} for n, vector in enumerate(vectors)]
            records[7]['v'] = np.zeros(5, np.float16)
            records[8]['v'] = np.full(40, np.nan, np.float16)
            write(data, {'v': 'tensor[f16]', 'boxes': 'tensor[f32]', 'label': 'i64'}, records)
            with Server(data) as server:
                self.assertEqual(server.api('set')['splits'][0]['vectors'], ['v'])
                answer = server.api('map', split='train', field='v')
                self.assertEqual((len(answer['points']), answer['num_left_out'], answer['length']), (88, 2, 40))
                kept = [record for record, *_ in answer['points']]
                matrix = np.array([vectors[n] for n in kept], np.float64)
                matrix -= matrix.mean(0)
                _, _, axes = np.linalg.svd(matrix, full_matrices=False)
                places = np.array([[x, y] for _, x, y, _ in answer['points']])
                for axis in 0, 1:
                    expected = matrix @ axes[axis]
                    self.assertLess(min(np.abs(expected - places[:, axis]).max(), np.abs(expected + places[:, axis]).max()), 0.05)
                near = server.api('near', split='train', field='v', record=4, count=10)
                own = np.float64(vectors[4])
                cosines = {n: float(own @ np.float64(vectors[n]) / np.linalg.norm(own) / np.linalg.norm(np.float64(vectors[n]))) for n in kept if n != 4}
                expected = sorted(cosines, key=lambda n: -cosines[n])[:10]
                self.assertEqual([one['record'] for one in near['near']], expected)
                self.assertAlmostEqual(near['near'][0]['cosine'], cosines[expected[0]], 5)
                self.assertEqual(near['num_left_out'], 2)
                self.assertEqual(server.get('api/near', split='train', field='v', record=8).status, 404)
                self.assertEqual(server.get('api/map', split='train', field='boxes').status, 400)


class Predictions(unittest.TestCase):
    """Labels of the set, and of the files: 0 .. 39, of four classes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        write(self.folder / 'set', {'image': 'image', 'label': 'i64', 'id': ffkit.Field('string', column=True)}, [{'image': png(8, 8, (n, 0, 0)), 'label': n % 4, 'id': f'r{n}'} for n in range(40)],
              classes=list('abcd'), class_names=['Ant', 'Bee', 'Cat', 'Dog'], split='val')

    def results(self, name, found, label=lambda n: 'abcd'[n % 4]):
        file = self.folder / name
        file.write_text(''.join(json.dumps({'record': n, 'id': f'r{n}', 'class': found(n), 'score': 0.9, 'label': label(n)}) + '\n' for n in range(40)))
        return file

    def test_one_truth(self):
        # Ten found as a class that the set does not know; five other labels in the file.
        file = self.results('a.jsonl', lambda n: 'zebra' if n < 10 else 'abcd'[n % 4], lambda n: 'd' if n in (12, 13, 14, 16, 17) else 'abcd'[n % 4])
        with Server(self.folder / 'set', '--results', file) as server:
            matrix = server.api('confusion', split='val')
            self.assertEqual((matrix['num_found'], matrix['num_right'], matrix['accuracy']), (40, 30, 0.75))
            self.assertIn('5 of 40', matrix['note'])
            self.assertEqual(sum(count for _, found, count in matrix['cells'] if found == -1), 10)
            self.assertEqual(server.api('find', split='val', only='wrong')['num_records'], 10)
            self.assertEqual(server.api('find', split='val', only='right')['num_records'], 30)
            for truth, found, count in matrix['cells']:
                self.assertEqual(server.api('find', split='val', truth=truth, found=found)['num_records'], count)
        seen = subprocess.run([FFINSPECT, 'view', self.folder / 'set', '--results', file, '--wrong', '--count', '3', '--output', self.folder / 'sheet.png'], capture_output=True, text=True)
        self.assertIn('5 of 40 results have another label', seen.stderr)

    def test_two_results_side_by_side(self):
        first = self.results('a.jsonl', lambda n: 'abcd'[n % 4] if n % 2 else 'abcd'[(n + 1) % 4])
        second = self.results('b.jsonl', lambda n: 'abcd'[n % 4] if n % 3 else 'abcd'[(n + 1) % 4])
        with Server(self.folder / 'set', '--results', first, '--results', second) as server:
            self.assertEqual(server.api('set')['results']['other'], str(second))
            for only, expected in [('both', lambda n: n % 2 and n % 3), ('first', lambda n: n % 2 and not n % 3), ('second', lambda n: not n % 2 and n % 3), ('neither', lambda n: not n % 2 and not n % 3)]:
                rows = server.api('rows', split='val', only=only)['rows']
                self.assertEqual([row['record'] for row in rows], [n for n in range(40) if expected(n)], only)
                self.assertTrue(all(row['is_right'] == (row['record'] % 2 == 1) and row['other']['is_right'] == (row['record'] % 3 != 0) for row in rows))
            self.assertEqual([result['file'] for result in server.api('record', split='val', record=3)['results']], [str(first), str(second)])
        wrong = subprocess.run([FFINSPECT, 'serve', self.folder / 'set', '--results', first, '--results', self.folder / 'none'], capture_output=True, text=True, timeout=20)
        self.assertEqual(wrong.returncode, 1)


if __name__ == '__main__':
    unittest.main()
