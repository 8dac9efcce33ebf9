#!/usr/bin/env python3
"""The first screen of ffinspect serve in a browser that runs: milliseconds after the address is opened, least and median.

    bench/serve/first_screen.py DATA [--runs 15] [--ffinspect build/release/tools/ffinspect --ffinspect ANOTHER] [--chromium /usr/bin/chromium]

A window of 1280 x 800 in headless Chromium, with an empty cache each time. Each build in turn, and a page of one word, which is what the browser itself takes.
Runs in the Python of tools/setup --browser.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

from playwright.sync_api import sync_playwright

BUILT = pathlib.Path(__file__).resolve().parents[2] / 'build/release/tools/ffinspect'
TIMES = """() => {
  const ends = performance.getEntriesByType('resource').filter(one => one.name.includes('thumbnail?')).map(one => one.responseEnd).sort((a, b) => a - b).slice(0, 24);
  return {'first paint': performance.getEntriesByType('paint')[0]?.startTime, 'first thumbnail': ends[0], '24 thumbnails': ends[23]};
}"""


def times_of(browser, address):
    context = browser.new_context(viewport={'width': 1280, 'height': 800})
    page = context.new_page()
    page.goto('data:text/html,')
    page.wait_for_timeout(300)
    page.goto(address)
    page.wait_for_timeout(700)
    times = page.evaluate(TIMES)
    context.close()
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('data')
    parser.add_argument('--runs', type=int, default=15)
    parser.add_argument('--ffinspect', action='append')
    parser.add_argument('--chromium', default='/usr/bin/chromium')
    options = parser.parse_args()
    servers, addresses = [], {}
    for program in options.ffinspect or [str(BUILT)]:
        servers.append(subprocess.Popen([program, 'serve', options.data, '--json'], stdout=subprocess.PIPE, text=True))
        addresses[program] = json.loads(servers[-1].stdout.readline())['address']
    with tempfile.NamedTemporaryFile('w', suffix='.html') as word, sync_playwright() as playwright:
        word.write('<!doctype html><p>word')
        word.flush()
        addresses['a page of one word'] = f'file://{word.name}'
        browser = playwright.chromium.launch(executable_path=options.chromium, args=['--no-sandbox'])
        times_of(browser, addresses['a page of one word'])
        runs = [{name: times_of(browser, address) for name, address in addresses.items()} for _ in range(options.runs)]
        browser.close()
    for server in servers:
        server.terminate()
    for name in addresses:
        for what in runs[0][name]:
            values = [run[name][what] for run in runs if run[name].get(what) is not None]
            if values:
                print(f'{name:40} {what:16} {min(values):6.0f} {statistics.median(values):6.0f}')


main()
