"""Sets without pictures, lists of ticks, a server that is away; in Chromium and, where it is there, Firefox, in wide and narrow windows."""
import json
import os
import re
import signal
import subprocess
import time

import pytest
import sets


def count(page, text):
    page.wait_for_function("text => document.querySelector('.counter')?.textContent === text", arg=text)


@pytest.fixture(params=["chromium", "firefox"])
def browser(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(params=[1280, 390])
def new_page(request, browser):
    contexts, errors = [], []

    def start(address, place=""):
        context = browser.new_context(viewport={"width": request.param, "height": 800}, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address + place)
        return page

    yield start
    for context in contexts:
        context.close()
    assert errors == []


def unfold(page):
    if page.get_by_role("button", name="Filter", exact=True).is_visible():
        page.get_by_role("button", name="Filter", exact=True).click()


def test_a_table_of_columns_and_its_bars(table, new_page):
    page = new_page(table)
    page.locator(".cell:not([hidden])").first.wait_for()
    page.wait_for_function("() => document.querySelector('.cell').innerText.includes('row 0')")
    wide = page.viewport_size["width"] > 800
    head = page.locator(".table-head").inner_text()
    assert "id" in head and ("weight" in head if wide else "more columns" in head)
    if wide:
        assert "18446744073709551615" in page.locator(".cell").first.inner_text()
    unfold(page)
    page.get_by_label("Bars of").select_option("a b")
    page.locator(".bar-of").first.wait_for()
    page.wait_for_function("() => document.querySelectorAll('.bar-of').length === 7")
    page.locator(".bar-of").first.click()
    count(page, "18 of 120")
    assert page.get_by_label("Where").input_value() == '"a b" == 0'
    page.get_by_label("Where").fill("weight == nan or large > 18446744073709551613")
    count(page, "3 of 120")
    page.get_by_label("Bars of").select_option("weight")
    page.wait_for_function("() => [...document.querySelectorAll('.bar-of')].some(bar => bar.textContent.startsWith('nan'))")
    page.locator(".bar-of", has_text="nan").click()
    count(page, "1 of 120")
    assert page.get_by_label("Where").input_value() == "(weight == nan or large > 18446744073709551613) and weight == nan"
    # Text inside the records, when it is asked for.
    page.get_by_role("button", name="Show all").click()
    page.get_by_label("Text", exact=True).fill("hidden 11<")
    page.get_by_text("No record matches the filters.").wait_for()
    page.get_by_role("button", name="inside the records, too").click()
    count(page, "1 of 120")
    # Long names and names from right to left stay within the panel.
    page.get_by_role("button", name="Show all").first.click()
    page.get_by_label("Bars of").select_option("label")
    page.wait_for_function("() => document.querySelectorAll('.bar-of').length === 3")
    assert page.evaluate("() => { const panel = document.querySelector('.side-place').getBoundingClientRect(); return [...document.querySelectorAll('.side .value, .side input, .side textarea')].every(one => one.getBoundingClientRect().right <= panel.right + 1); }")


def test_a_record_shows_all_of_its_text_and_its_neighbours(table, new_page):
    page = new_page(table, "#record?split=train&record=3")
    page.get_by_text("Nearest by vector").wait_for()
    facts = page.locator(".facts").inner_text()
    assert "nan" in facts and "<b>hidden 3</b>" in facts and facts.count("word") >= 900 and "18446744073709551612" in facts
    page.get_by_text("Nearest by vector").click()
    page.locator(".facts .small-pictures a").first.wait_for()
    assert page.locator(".facts .small-pictures a").count() == 24


def test_a_map_of_vectors(table, new_page):
    page = new_page(table, "#map?split=train")
    page.get_by_text("120 vectors of 16 numbers").wait_for()
    page.locator("canvas.map").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".map-record p").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.startsWith('#record')")


def saved_ids(page, dialog):
    """What the button saves. Playwright hears of no downloads of Firefox."""
    page.evaluate("() => { const make = URL.createObjectURL; window.saved = null; URL.createObjectURL = blob => { blob.text().then(text => { window.saved = text; }); return make(blob); }; }")
    dialog.get_by_role("button", name="Ids", exact=True).first.click()
    page.wait_for_function("() => window.saved !== null")
    return page.evaluate("() => window.saved").splitlines()


def test_any_number_of_ticks_in_a_few_requests(many, new_page):
    page = new_page(many)
    page.locator(".cell:not([hidden])").first.wait_for()
    asked = []
    page.on("request", lambda request: asked.append(request.url) if re.search("/(list|api)", request.url) else None)
    page.locator(".cells").focus()
    page.keyboard.press("Space")
    page.keyboard.press("End")
    page.keyboard.press("Shift+Space")
    page.get_by_role("button", name="List · 100,000 ticks").click()
    dialog = page.get_by_role("dialog")
    asked.clear()
    assert len(saved_ids(page, dialog)) == 100_000 and len(asked) <= 2
    dialog.get_by_role("button", name="Remove all ticks").click()
    # Pasted in: numbers, then ids; many that lie apart.
    dialog.get_by_text("Tick by a list").click()
    area = dialog.get_by_label("Numbers or ids of records")
    # At once, as from the clipboard; typed letter by letter it would take a minute.
    area.evaluate("(area, text) => { area.value = text; }", "\n".join(str(number) for number in range(0, 60_000, 3)) + "\n999999999")
    dialog.get_by_role("button", name="Tick", exact=True).click()
    dialog.get_by_text("20,000 records ticked. train has no 999999999.").wait_for()
    asked.clear()
    ids = saved_ids(page, dialog)
    assert len(ids) == 20_000 and len(asked) <= 2
    dialog.get_by_role("button", name="Remove all ticks").click()
    area.fill("\n".join([*ids[:3], "no such id"]))
    dialog.get_by_role("button", name="Tick", exact=True).click()
    dialog.get_by_text("3 records ticked. train has no no such id.").wait_for()
    dialog.get_by_role("button", name="Show", exact=True).click()
    count(page, "3 of 100,000")
    page.wait_for_function("() => [...document.querySelectorAll('.cell:not([hidden])')].map(cell => cell.ariaLabel?.match(/Record (\\d+)/)?.[1]).join() === '0,3,6'")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('h1')?.textContent.startsWith('Record 3')")
    page.get_by_text("2 of 3").wait_for()
    # They survive the tab, and another data set has none of them.
    other = page.context.new_page()
    page.close()
    other.goto(many)
    other.get_by_role("button", name="List · 3 ticks").wait_for()


def test_ticks_do_not_go_over_to_another_set(table, marked, new_page):
    page = new_page(table)
    page.locator(".cell:not([hidden])").first.wait_for()
    page.locator(".cells").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="List · 1 tick").wait_for()
    page.goto(marked)
    page.get_by_role("button", name="List …").wait_for()


def test_the_page_goes_on_when_the_server_is_back(table_set, new_page, tmp_path):
    command = [os.environ["FFKIT_FFINSPECT"], "serve", str(table_set), "--json", "--hashes", str(tmp_path), "--token", "a-token-of-a-test-1234"]

    def start(*more):
        process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True)
        return process, json.loads(process.stdout.readline())

    process, facts = start()
    try:
        page = new_page(facts["address"], "#grid?split=train&where=label+%3D%3D+1")
        count(page, "40 of 120")
        process.send_signal(signal.SIGINT)
        process.wait(10)
        unfold(page)
        page.get_by_label("Where").fill("label == 1 and weight < 4")
        page.get_by_text("ffinspect serve does not answer").wait_for()
        process, _ = start("--port", str(facts["port"]))
        begin = time.monotonic()
        count(page, "11 of 120")
        assert time.monotonic() - begin < 5
        page.wait_for_function("() => !document.querySelector('.lost')")
        assert page.get_by_label("Where").input_value() == "label == 1 and weight < 4"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(10)


def test_the_keyboard_keeps_its_place(shapes, new_page):
    page = new_page(shapes, "#grid?split=train")
    page.wait_for_selector(".cell.shown")
    page.locator(".cells").focus()
    # Enter right behind an arrow key: the address is the record's.
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(".frame.shown")
    page.wait_for_timeout(400)
    assert re.search("#record.*record=1", page.url)
    # A link that is used keeps the focus, on the next record as well.
    page.get_by_role("link", name="Next record").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('h1').textContent.startsWith('Record 2')")
    page.wait_for_function("() => document.activeElement.ariaLabel?.startsWith('Next record')")
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement.matches('.cells')")
    for name in "constructor", "__proto__", "toString":
        page.evaluate("name => { location.hash = name; }", name)
        page.wait_for_function("() => location.hash.startsWith('#grid') && document.querySelector('.cell.shown')")


def test_focus_is_seen_in_forced_colours(shapes, chromium):
    page = chromium.new_page(forced_colors="active")
    page.goto(shapes + "#grid?split=train")
    page.wait_for_selector(".cell.shown")
    page.locator(".cells").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => parseFloat(getComputedStyle(document.querySelector('.cell.focused')).outlineWidth) >= 3")
    page.close()


def test_a_caption_lies_below_the_reason(marked, new_page):
    page = new_page(marked)
    page.locator(".cell.broken").wait_for()
    assert page.evaluate("() => { const cell = document.querySelector('.cell.broken'); return cell.querySelector('.caption').getBoundingClientRect().top >= cell.querySelector('.why').getBoundingClientRect().bottom - 1; }")


def test_duplicates_say_what_could_not_be_read(marked, new_page):
    page = new_page(marked, "#duplicates?split=train")
    page.get_by_role("button", name="Look for duplicates").or_(page.locator(".group")).first.wait_for()
    if page.get_by_role("button", name="Look for duplicates").is_visible():
        page.get_by_role("button", name="Look for duplicates").click()
    page.locator(".group").first.wait_for()
    page.get_by_text("train: 1 could not be decoded").wait_for()


def test_two_results_stand_side_by_side(demo, serve, new_page):
    second = demo / "second.jsonl"
    if not second.exists():
        lines = [json.loads(line) for line in (demo / "results.jsonl").read_text().splitlines()]
        for line in lines[:100]:
            line["class"] = line["label"]
        for line in lines[100:110]:
            line["class"] = "no such class"
        second.write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = new_page(serve(demo / "demo", "--results", demo / "results.jsonl", "--results", second), "#confusion?split=val")
    link = page.get_by_role("link", name="Only second.jsonl right")
    number = link.inner_text().split(" · ")[1]
    assert int(number) > 5
    link.click()
    count(page, f"{number} of 500")
    page.locator(".cells").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".verdict")
    assert [one.split(":")[0] for one in page.locator(".verdict").all_inner_texts()] == ["results.jsonl", "second.jsonl"]
