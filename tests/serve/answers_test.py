#!/usr/bin/env python3
"""What ffinspect serve answers, beside what ffinspect's other subcommands print of the same set."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

from served import FFCONVERT, FFINSPECT, ServedDemo, Server, run


def jpeg_size(data):
    """Width and height in the frame header of a JPEG."""
    at = 2
    while True:
        marker, length = struct.unpack('>HH', data[at:at + 4])
        if marker in (0xFFC0, 0xFFC1, 0xFFC2):
            height, width = struct.unpack('>HH', data[at + 5:at + 9])
            return width, height
        at += 2 + length


def png_size(data):
    assert data[:8] == b'\x89PNG\r\n\x1a\n'
    return struct.unpack('>II', data[16:24])


def png(width, height, color):
    def chunk(name, content):
        return struct.pack('>I', len(content)) + name + content + struct.pack('>I', zlib.crc32(name + content))
    rows = (b'\0' + bytes(color) * width) * height
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


class AnswersTest(ServedDemo):
    def records(self, **choice):
        rows = self.server.api('rows', split='train', count=1000, **choice)
        self.assertEqual(len(rows['rows']), rows['num_records'])
        return [row['record'] for row in rows['rows']]

    def listed(self, *options):
        lines = run(FFINSPECT, 'ls', self.data, '--split', 'train', '--limit', 1000, '--json', *options).splitlines()
        return [json.loads(line) for line in lines]

    def test_the_set(self):
        answer = self.server.api('set')
        self.assertEqual([(split['name'], split['num_records'], split['kind']) for split in answer['splits']], [('train', 600, 'pictures'), ('val', 100, 'pictures')])
        self.assertEqual(len(answer['splits'][0]['classes']), 5)
        self.assertIsNone(answer['results'])

    def test_filters_are_those_of_where(self):
        for condition in ['label == 3', 'label in {1, 2..4}', "id != 'class0001/00000001.jpg' and label < 2", "class == 'class0004'"]:
            self.assertEqual(self.records(where=condition), [row['record'] for row in self.listed('--where', condition)], condition)
        answer = self.server.get('api/rows', split='train', where='label = = 3')
        self.assertEqual(answer.status, 400)
        self.assertIn('label', answer.json()['error'])

    def test_labels_text_and_order(self):
        rows = self.listed()
        fields = {row['record']: row['fields'] for row in rows}
        self.assertEqual(self.records(label='1,3'), [n for n, field in fields.items() if field['label'] in (1, 3)])
        self.assertEqual(self.records(text='CLASS0002/0000001'), [n for n, field in fields.items() if 'class0002/0000001' in field['id']])
        name = self.server.api('set')['splits'][0]['classes'][4]['name']
        self.assertEqual(self.records(text=name.upper()), [n for n, field in fields.items() if field['label'] == 4])
        self.assertEqual(self.records(text='no such text'), [])
        self.assertEqual(self.records(sort='id', descending=1), sorted(fields, key=lambda n: fields[n]['id'], reverse=True))
        self.assertEqual(self.records(sort='label'), sorted(fields, key=lambda n: (fields[n]['label'], n)))
        self.assertEqual(self.records(descending=1), sorted(fields, reverse=True))
        sizes = [row['num_bytes'] for row in self.server.api('rows', split='train', count=1000, sort='size')['rows']]
        self.assertEqual(sizes, sorted(sizes))

    def test_a_block_of_rows_and_the_place_of_a_record(self):
        whole = self.records(label='2', sort='size')
        part = self.server.api('rows', split='train', label='2', sort='size', **{'from': 10, 'count': 5})
        self.assertEqual([row['record'] for row in part['rows']], whole[10:15])
        place = self.server.api('position', split='train', label='2', sort='size', record=whole[7])
        self.assertEqual((place['position'], place['previous'], place['next']), (7, whole[6], whole[8]))
        self.assertIsNone(self.server.api('position', split='train', label='1', record=whole[7])['position'])

    def test_the_histogram_leaves_its_own_choice_out(self):
        bins = self.server.api('histogram', split='train', label='2', text='class000')['bins']
        self.assertEqual([(b['label'], b['num_records']) for b in bins], [(i, 120) for i in range(5)])

    def test_a_record(self):
        printed = json.loads(run(FFINSPECT, 'cat', self.data, 17, '--split', 'train', '--json'))
        record = self.server.api('record', split='train', record=17)
        self.assertEqual({field['name']: field['value'] for field in record['fields']}, printed['fields'])
        self.assertEqual((record['class'], record['id']), (printed['class'], printed['fields']['id']))
        self.assertEqual((record['pictures'][0]['width'], record['pictures'][0]['encoding']), (64, 'jpeg'))
        stored = subprocess.run([FFINSPECT, 'cat', self.data, '17', '--split', 'train', '--field', 'image'], capture_output=True, check=True).stdout
        picture = self.server.get('picture', split='train', record=17)
        self.assertEqual((picture.body, picture.headers['Content-Type']), (stored, 'image/jpeg'))

    def test_thumbnails_keep_the_shape_and_are_not_enlarged(self):
        for size, expected in [(32, (32, 32)), (500, (64, 64))]:
            answer = self.server.get('thumbnail', split='val', record=0, size=size)
            self.assertEqual((answer.status, jpeg_size(answer.body)), (200, expected))
            self.assertIn('max-age', answer.headers['Cache-Control'])

    def test_views_are_the_loaders(self):
        answer = self.server.get('view', split='train', record=5, transform='RandomResizedCrop(40)', draw=3, seed=9)
        self.assertEqual(png_size(answer.body), (40, 40))
        with tempfile.TemporaryDirectory() as folder:
            printed = json.loads(run(FFINSPECT, 'view', self.data, '--split', 'train', '--record', 5, '--transform', 'RandomResizedCrop(40)', '--draws', 4, '--draw-seed', 9,
                                     '--output', f'{folder}/sheet.png', '--json'))
        facts = self.server.api('view', split='train', record=5, transform='RandomResizedCrop(40)', draw=3, seed=9)
        self.assertEqual(facts['geometry'], printed['samples'][0]['views'][3]['geometry'])
        wrong = self.server.get('view', split='train', record=5, transform='RandomResizdCrop(40)')
        self.assertEqual(wrong.status, 400)
        self.assertIn('RandomResizedCrop', wrong.json()['error'])

    def test_lists_are_what_other_commands_take(self):
        with tempfile.NamedTemporaryFile('wb') as file:
            answer = self.server.get('list', split='train', label='3', sort='size', **{'as': 'numbers'})
            self.assertIn('train-records.txt', answer.headers['Content-Disposition'])
            file.write(answer.body)
            file.flush()
            self.assertEqual([row['record'] for row in self.listed('--indices', file.name)], self.records(label='3', sort='size'))
        ids = self.server.get('list', split='train', label='3', **{'as': 'ids'}).body.decode().splitlines()
        self.assertEqual(ids, [row['fields']['id'] for row in self.listed('--where', 'label == 3')])
        self.assertEqual(self.server.get('list', split='train', label='3', **{'as': 'json'}).json()['records'], self.records(label='3'))

    def test_what_there_is_not(self):
        for status, path, parameters in [(404, 'api/rows', {'split': 'tset'}), (404, 'api/record', {'split': 'val', 'record': 100}), (400, 'api/record', {'split': 'val'}),
                                         (400, 'api/record', {'split': 'val', 'record': -1}), (404, 'api/nothing', {}), (404, 'picture', {'split': 'val', 'record': 0, 'field': 'x'}),
                                         (400, 'picture', {'split': 'val', 'record': 0, 'field': 'label'}), (400, 'api/rows', {'split': 'val', 'sort': 'colour'}),
                                         (400, 'api/rows', {'split': 'val', 'only': 'wrong'}), (400, 'api/rows', {'split': 'val', 'count': 10**9}), (400, 'api/scenes', {'split': 'val'}),
                                         (404, 'api/confusion', {'split': 'val'}), (400, 'api/tokens', {'split': 'val', 'record': 0}), (400, 'thumbnail', {'split': 'val', 'record': 0, 'size': 5}),
                                         (404, 'api/rows', {'split': 'val', 'where': 'colour == 3'}), (404, 'api/rows', {'split': 'val', 'group': 3})]:
            answer = self.server.get(path, **parameters)
            self.assertEqual(answer.status, status, (path, parameters, answer.body))
            self.assertTrue(answer.json()['error'])

    def test_transforms_of_a_run(self):
        config = pathlib.Path(self.folder.name) / 'config.toml'
        config.write_text('image-size = 48\ncrop-scale = [0.35,1.0]\ninterpolation = "bicubic"\ncolor-jitter = [0.4,0.3,0.2,0.1]\nauto-augment = "randaugment"\n'
                          'randaugment-ops = 3\nrandaugment-magnitude = 7\nrandom-erasing = 0.25\n')
        with Server(self.data, '--config', config) as server:
            text = server.api('set')['transform']
            self.assertEqual(text, "RandomResizedCrop(48, scale=(0.35, 1), interpolation='bicubic', flip_probability=0.5), ColorJitter(0.4, 0.3, 0.2, 0.1), RandAugment(3, 7), RandomErasing(0.25)")
            self.assertEqual(png_size(server.get('view', split='val', record=1).body), (48, 48))
            self.assertEqual(server.api('set')['left_out'], [])
        config.write_text('image-size = 48\nprogressive-size = 32\nprogressive-epochs = [0,4]\nmixup-alpha = 0.2\ncutmix-alpha = 1.0\n')
        with Server(self.data, '--config', config) as server:
            self.assertEqual(server.api('set')['left_out'], ['The run also mixes the pictures of a batch by MixUp (mixup-alpha = 0.2) or CutMix (cutmix-alpha = 1), which is not shown here.',
                                                             'The first epochs of the run have smaller pictures, from 32 pixels on. Here all have 48.'])
        config.write_text('lr = 0.1\n')
        result = subprocess.run([FFINSPECT, 'serve', self.data, '--config', config], capture_output=True, text=True, timeout=20)
        self.assertEqual(result.returncode, 1)
        self.assertIn('neither image-size nor crop-scale', result.stderr)

    def test_classes_without_readable_names(self):
        folder = pathlib.Path(self.folder.name)
        for name in 'cat', 'dog':
            (folder / 'animals/train' / name).mkdir(parents=True)
            (folder / 'animals/train' / name / 'a.png').write_bytes(png(20, 20, (1, 2, 3)))
        run(FFCONVERT, 'folder', folder / 'animals', folder / 'animal-set', '--quiet')
        with Server(folder / 'animal-set') as server:
            self.assertEqual(server.api('set')['splits'][0]['classes'], [{'id': 'cat', 'name': 'cat'}, {'id': 'dog', 'name': 'dog'}])
            for answer in [server.api('rows', split='train')['rows'][0], server.api('histogram', split='train')['bins'][0], server.api('record', split='train', record=0)]:
                self.assertIn(answer['class'], ['cat', 'dog'])
                self.assertIsNone(answer['class_name'])

    def test_only_the_chosen_records_are_served(self):
        with Server(self.data, '--where', 'label == 1') as server:
            self.assertEqual([split['num_records'] for split in server.api('set')['splits']], [120, 20])
            rows = server.api('rows', split='val', count=1000)
            self.assertEqual({row['label'] for row in rows['rows']}, {1})
            record = rows['rows'][3]
            self.assertEqual(server.api('record', split='val', record=record['record'])['id'], record['id'])
            self.assertEqual(server.api('rows', split='val', label='2')['num_records'], 0)


class ResultsTest(ServedDemo):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lines = run(FFINSPECT, 'ls', cls.data, '--split', 'val', '--limit', 1000, '--json').splitlines()
        cls.labels = [json.loads(line)['fields']['label'] for line in lines]
        ids = [json.loads(line)['fields']['id'] for line in lines]
        cls.found = [(label + (n % 7 == 0)) % 5 for n, label in enumerate(cls.labels)]
        cls.scores = [0.3 + 0.6 * (n * 37 % 100) / 100 for n in range(100)]
        cls.results = pathlib.Path(cls.folder.name) / 'results.jsonl'
        with open(cls.results, 'w') as file:
            for n in range(100):
                print(json.dumps({'id': ids[n], 'record': n, 'class': f'class{cls.found[n]:04}', 'score': cls.scores[n], 'label': f'class{cls.labels[n]:04}', 'loss': 1 - cls.scores[n]}), file=file)
        cls.server.__exit__()
        cls.server = Server(cls.data, '--results', cls.results)

    def test_they_belong_to_val(self):
        self.assertEqual(self.server.api('set')['results'], {'file': str(self.results), 'kind': 'classes', 'split': 'val', 'error_name': '', 'other': None})

    def test_right_wrong_and_sure(self):
        wrong = [n for n in range(100) if self.found[n] != self.labels[n]]
        for only, expected in [('wrong', wrong), ('sure', [n for n in wrong if self.scores[n] >= 0.5]), ('right', sorted(set(range(100)) - set(wrong))), ('found', list(range(100)))]:
            rows = self.server.api('rows', split='val', only=only, count=1000)['rows']
            self.assertEqual([row['record'] for row in rows], expected, only)
        rows = self.server.api('rows', split='val', only='wrong', sort='score', descending=1, count=1000)['rows']
        self.assertEqual([row['record'] for row in rows], sorted(wrong, key=lambda n: -self.scores[n]))

    def test_the_confusion_matrix_and_its_cells(self):
        matrix = self.server.api('confusion', split='val')
        self.assertEqual(sum(count for _, _, count in matrix['cells']), 100)
        self.assertAlmostEqual(matrix['accuracy'], sum(a == b for a, b in zip(self.found, self.labels)) / 100)
        for truth, found, count in matrix['cells']:
            rows = self.server.api('rows', split='val', truth=truth, found=found, count=1000)['rows']
            self.assertEqual(len(rows), count)
            self.assertTrue(all((row['label'], row['found']) == (truth, found) for row in rows))

    def test_a_record_with_its_result(self):
        result = self.server.api('record', split='val', record=7)['result']
        self.assertEqual((result['found'], result['is_right']), (self.found[7], self.found[7] == self.labels[7]))
        self.assertAlmostEqual(result['loss'], 1 - self.scores[7])


class CocoTest(unittest.TestCase):
    """Boxes, key points and detections, in a set of three pictures made here."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / 'coco/val').mkdir(parents=True)
        (self.folder / 'coco/annotations').mkdir()
        for n in range(3):
            (self.folder / f'coco/val/{n}.png').write_bytes(png(120, 80, (40 * n, 90, 200)))
        boxes = [[10, 10, 40, 30], [60, 20, 30, 30], [5, 5, 20, 20]]
        annotations = {'images': [{'id': 10 + n, 'file_name': f'{n}.png', 'width': 120, 'height': 80} for n in range(3)],
                       'categories': [{'id': 7, 'name': 'dog'}, {'id': 9, 'name': 'cat'}],
                       'annotations': [{'id': i, 'image_id': 10 + (i == 2), 'category_id': 7, 'bbox': box, 'area': 1.0, 'iscrowd': 0} for i, box in enumerate(boxes)]}
        (self.folder / 'coco/annotations/instances_val.json').write_text(json.dumps(annotations))
        run(FFCONVERT, 'coco', self.folder / 'coco', self.folder / 'set', '--quiet')
        detections = [{'image_id': 10, 'category_id': 7, 'bbox': [11, 11, 40, 30], 'score': 0.9}, {'image_id': 10, 'category_id': 9, 'bbox': [60, 20, 30, 30], 'score': 0.8},
                      {'image_id': 11, 'category_id': 7, 'bbox': [5, 5, 20, 20], 'score': 0.2}]
        (self.folder / 'found.json').write_text(json.dumps(detections))

    def test_mistakes_of_detections(self):
        with Server(self.folder / 'set', '--results', self.folder / 'found.json') as server:
            self.assertEqual(server.api('set')['results']['kind'], 'detections')
            rows = server.api('rows', split='val', sort='mistakes', descending=1)['rows']
            errors = {row['id']: row['error'] for row in rows}
            # In the first picture one box is found as another class: one missed, one wrong. In the
            # second the detection's score is too low.
            self.assertEqual(sorted(errors.values(), reverse=True), [2, 1, 0])
            self.assertEqual([row['error'] for row in rows], [2, 1, 0])
            record = server.api('record', split='val', record=rows[0]['record'])
            self.assertEqual([(box['name'], box['is_found']) for box in record['boxes']], [('dog', False), ('dog', False), ('dog 0.90', True), ('cat 0.80', True)])
            plain = server.get('thumbnail', split='val', record=rows[0]['record'], size=100)
            marked = server.get('thumbnail', split='val', record=rows[0]['record'], size=100, marks=1)
            self.assertEqual((jpeg_size(plain.body), jpeg_size(marked.body)), ((100, 67), (100, 67)))
            self.assertNotEqual(plain.body, marked.body)

    def test_detections_of_other_pictures_are_refused(self):
        (self.folder / 'other.json').write_text(json.dumps([{'image_id': 99, 'category_id': 7, 'bbox': [0, 0, 1, 1], 'score': 1}]))
        result = subprocess.run([FFINSPECT, 'serve', self.folder / 'set', '--results', self.folder / 'other.json'], capture_output=True, text=True, timeout=20)
        self.assertEqual(result.returncode, 1)
        self.assertIn('picture 99', result.stderr)


class DuplicatesTest(unittest.TestCase):
    def test_pictures_in_two_splits(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / 'demo'
            run(FFCONVERT, 'demo', data, '--classes', 2, '--images', 40, '--val-images', 10, '--size', 64)
            # The demo's splits differ; the copy of val is a third split.
            run('cp', '-r', data / 'val', data / 'again')
            manifest = data / 'again/manifest.json'
            manifest.write_text(manifest.read_text().replace('"val"', '"again"'))
            with Server(data) as server:
                self.assertEqual(server.api('duplicates')['state'], 'none')
                server.api('duplicates/start')
                answer = server.api('duplicates', across=1, count=500)
                while answer['state'] == 'running':
                    answer = server.api('duplicates', across=1, count=500)
                self.assertEqual(answer['state'], 'done', answer['message'])
                self.assertEqual(answer['num_across'], 10)
                first = answer['groups'][0]
                self.assertTrue({'again', 'val'} <= {record['split'] for record in first['records']})
                rows = server.api('rows', split='val', group=first['group'])['rows']
                self.assertEqual([row['record'] for row in rows], [record['record'] for record in first['records'] if record['split'] == 'val'])
                others = server.api('record', split='val', record=rows[0]['record'])['duplicates']
                self.assertIn('again', [other['split'] for other in others])


if __name__ == '__main__':
    sys.exit(unittest.main())
