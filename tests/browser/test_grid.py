"""The grid: thumbnails, keys, filters, ticks."""
import re
import time

import pytest

import looks


def shown(page):
    """The positions of the cells that lie in the view, from 1, and the pixels by which the first one begins below its top."""
    return page.evaluate("""() => {
      const frame = document.querySelector('.cells').getBoundingClientRect();
      const cells = [...document.querySelectorAll('.cell')].filter(cell => !cell.hidden && cell.getBoundingClientRect().bottom > frame.top + 1 && cell.getBoundingClientRect().top < frame.bottom - 1);
      return cells.map(cell => Number(cell.ariaPosInSet)).sort((a, b) => a - b);
    }""")


def layout(page):
    """What lies where: a text."""
    return page.evaluate("() => JSON.stringify([document.querySelector('.cells').scrollTop, ...[...document.querySelectorAll('.cell:not([hidden])')].map(cell => [cell.ariaPosInSet, cell.getBoundingClientRect().top])])")


def settle(page, act):
    """Does act() and waits until the grid has moved and rests, however slow the machine is."""
    before = layout(page)
    act()
    end = time.monotonic() + 20
    last = now = before
    while now == before or now != last:
        assert time.monotonic() < end, "the grid does not move"
        last = now
        page.wait_for_timeout(150)
        now = layout(page)


def scroll_to(page, share):
    settle(page, lambda: page.evaluate("share => { const list = document.querySelector('.cells'); list.scrollTop = share * (list.scrollHeight - list.clientHeight); }", share))


def wait_for_pictures(page):
    page.wait_for_function("() => { const cells = [...document.querySelectorAll('.cell:not([hidden])')]; return cells.length && cells.every(cell => cell.matches('.shown, .broken')); }")


def focused(page):
    return page.locator(".cell.focused").get_attribute("aria-label")


def count(page, text):
    page.wait_for_function("text => document.querySelector('.counter')?.textContent === text", arg=text)


def test_first_screen(many, open_page, chromium):
    times = []
    for _ in range(5):
        page = open_page(many)
        page.wait_for_selector(".cell.shown")
        wait_for_pictures(page)
        paint, end, names = page.evaluate("""() => {
          const pictures = performance.getEntriesByType('resource').filter(one => one.name.includes('/thumbnail?'));
          return [performance.getEntriesByName('first-contentful-paint')[0].startTime, Math.max(...pictures.slice(0, 20).map(one => one.responseEnd)), pictures.map(one => one.name)];
        }""")
        times.append((paint, end))
        assert len(names) == len(set(names)) > 30
    print(f"\nfirst thumbnails painted after {min(paint for paint, _ in times):.0f} ms, 20 have come after {min(end for _, end in times):.0f} ms (best of {len(times)})")


def places(page, selector):
    boxes = page.evaluate("selector => [...document.querySelectorAll(selector)].map(one => one.getBoundingClientRect()).map(({x, y, width}) => [y, x, width])", selector)
    return [[round(number) for number in box] for box in sorted(boxes)[:12]]


@pytest.mark.parametrize("width, height", [(390, 844), (700, 900), (1280, 800), (2560, 1440)])
def test_first_screen_stands_where_the_grid_will(many, open_page, chromium, width, height):
    context = chromium.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.route("**/main.js", lambda route: route.abort())
    page.goto(many)
    page.wait_for_function("() => [...document.querySelectorAll('.sheet img')].every(one => one.complete && one.naturalWidth)")
    before = places(page, ".sheet img")
    # Elsewhere it is not shown.
    page.goto(many + "#record?split=train&record=3")
    page.reload()
    assert page.locator(".sheet").is_hidden()
    context.close()
    page = open_page(many, width=width, height=height)
    wait_for_pictures(page)
    assert page.locator(".sheet").count() == 0
    bound = 4 if width == 2560 else 2  # grid.js rounds the width of each column down
    for one, other in zip(before, places(page, ".cell:not([hidden]) img"), strict=True):
        assert max(abs(a - b) for a, b in zip(one, other)) <= bound, (before, one, other)


def test_scrolls_to_the_end_of_100_000_records(many, open_page):
    page = open_page(many)
    wait_for_pictures(page)
    count(page, "100,000 records")
    scroll_to(page, 1)
    assert shown(page)[-1] == 100_000
    wait_for_pictures(page)
    scroll_to(page, 0.5)
    assert abs(shown(page)[0] - 50_000) < 200
    page.keyboard.press("End")
    assert re.match("Record 99999,", focused(page))
    page.keyboard.press("Home")
    assert re.match("Record 0,", focused(page)) and shown(page)[0] == 1
    assert page.locator(".cell").count() < 400


def test_a_list_higher_than_browsers_allow(many, open_page):
    page = open_page(many, "#grid?split=train&size=600&at=0", width=900)
    wait_for_pictures(page)
    assert page.evaluate("document.querySelector('.spacer').clientHeight") == 8_000_000  # 100,000 rows of 628 pixels
    scroll_to(page, 1)
    assert shown(page)[-1] == 100_000
    # Small steps move by as much as elsewhere, and every row comes by.
    page.mouse.move(600, 500)
    rows = []
    for _ in range(12):
        settle(page, lambda: page.mouse.wheel(0, -300))
        rows += shown(page)
    assert set(range(min(rows), 100_001)) == set(rows) and 99_990 < min(rows) < 99_997
    # The bar has followed: it stands where the rows are.
    bar = page.evaluate("(list => list.scrollTop / (list.scrollHeight - list.clientHeight))(document.querySelector('.cells'))")
    assert abs(bar - shown(page)[0] / 100_000) < 0.0002
    top = "document.querySelector(`.cell[aria-posinset='99995']`).getBoundingClientRect().top"
    before = page.evaluate(top)
    settle(page, lambda: page.mouse.wheel(0, 100))
    assert abs(before - page.evaluate(top) - 100) <= 1

    def to_the_end():
        for _ in range(30):
            page.mouse.wheel(0, 600)
            page.wait_for_timeout(30)

    settle(page, to_the_end)
    assert shown(page)[-1] == 100_000
    page.keyboard.press("Home")
    assert shown(page)[0] == 1


def test_frames_while_scrolling(many, open_page, chromium):
    page = open_page(many)
    wait_for_pictures(page)
    page.mouse.move(800, 500)

    def scroll():
        for _ in range(250):
            page.mouse.wheel(0, 120)
            page.wait_for_timeout(12)

    drawn, dropped, seconds = looks.frames(chromium, page, lambda: settle(page, scroll))
    assert shown(page)[0] > 100 and drawn > 1
    print(f"\n{drawn / seconds:.0f} frames/s while scrolling ({drawn} drawn, {dropped} dropped in {seconds:.1f} s)")


def test_filters_by_class_text_and_condition(shapes, open_page):
    page = open_page(shapes, "#grid?split=train")
    count(page, "2,000 records")
    page.get_by_role("button", name="star, dotted 200").click()
    count(page, "200 of 2,000")
    assert page.locator(".cell:not([hidden])").first.get_attribute("aria-label").endswith("star, dotted")
    page.get_by_role("button", name="square, plain 200").click()
    count(page, "400 of 2,000")
    page.go_back()
    count(page, "200 of 2,000")
    page.get_by_role("button", name="Show all").click()
    count(page, "2,000 records")
    page.get_by_label("Where").fill("label in {1..3}")
    count(page, "600 of 2,000")
    page.get_by_label("Where").fill("labels in {1..3}")
    sentence = page.locator("#where-says")
    page.wait_for_function("() => document.querySelector('#where-says').textContent.includes('labels')")
    assert sentence.is_visible() and page.get_by_label("Where").get_attribute("aria-invalid") == "true"
    count(page, "600 of 2,000")
    page.get_by_label("Where").fill("")
    count(page, "2,000 records")
    page.get_by_label("Text").fill("HEXAGON")
    count(page, "200 of 2,000")
    page.get_by_label("Text").fill("no such text")
    page.get_by_text("No record matches the filters.").wait_for()
    page.get_by_role("button", name="Show all").first.click()
    page.get_by_label("Sort by").select_option("size")
    page.get_by_role("button", name="Largest first").click()
    page.wait_for_function("() => document.querySelector('.cell .value').textContent !== ''")
    values = page.evaluate("[...document.querySelectorAll('.cell:not([hidden])')].sort((a, b) => a.ariaPosInSet - b.ariaPosInSet).map(cell => Number(cell.querySelector('.value').textContent.replace(' kB', '')))")
    assert len(values) > 20 and values == sorted(values, reverse=True)


def test_a_choice_of_the_command_line(demo, serve, open_page):
    page = open_page(serve(demo / "demo", "--split", "train", "--where", "label == 3"))
    count(page, "200 records")
    wait_for_pictures(page)
    assert all(label.endswith("star, dotted") for label in page.evaluate("[...document.querySelectorAll('.cell:not([hidden])')].map(cell => cell.ariaLabel)"))


def test_back_leads_to_the_same_place(shapes, open_page):
    page = open_page(shapes, "#grid?split=train")
    wait_for_pictures(page)
    scroll_to(page, 0.4)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    record = focused(page).split(",")[0]  # the name of its class comes with the row, before or after the picture
    page.keyboard.press("Enter")
    page.wait_for_selector(".frame.shown")
    page.go_back()
    wait_for_pictures(page)
    assert focused(page).split(",")[0] == record and abs(shown(page)[0] - 800) < 60


def test_results_beside_the_truth(shapes, open_page):
    page = open_page(shapes)  # the split of the results comes first
    count(page, "500 records")
    page.get_by_role("button", name="wrong", exact=True).click()
    page.wait_for_function("() => /^\\d+ of 500$/.test(document.querySelector('.counter').textContent)")
    wrong = int(page.locator(".counter").inner_text().split()[0])
    assert 60 < wrong < 140
    assert page.locator(".cell.wrong:not([hidden])").count() == page.locator(".cell:not([hidden])").count()
    page.get_by_role("link", name="Predictions").click()
    page.get_by_text("right of 500 records").wait_for()
    cell = page.locator("td:not(.right) a").first
    number = cell.inner_text()
    cell.click()
    count(page, f"{number} of 500")
    assert page.locator(".cell.wrong:not([hidden])").count() == int(number)
    page.go_back()
    page.get_by_role("link", name=f"Wrong, worst first · {wrong}").click()
    count(page, f"{wrong} of 500")
    losses = page.evaluate("[...document.querySelectorAll('.cell:not([hidden])')].sort((a, b) => a.ariaPosInSet - b.ariaPosInSet).map(cell => Number(cell.querySelector('.value').textContent))")
    assert losses == sorted(losses, reverse=True) and losses[0] > 3


def test_a_selection_goes_out(shapes, open_page, tmp_path):
    page = open_page(shapes, "#grid?split=train&label=3")
    count(page, "200 of 2,000")
    page.locator(".cell.focused").wait_for()
    page.wait_for_function("() => document.querySelector('.cell').ariaLabel")

    def numbers_of(button, dialog):
        with page.expect_download() as download:
            dialog.get_by_role("button", name=button, exact=True).or_(dialog.get_by_role("link", name=button, exact=True)).click()
        download.value.save_as(tmp_path / "list")
        return (tmp_path / "list").read_text().split("\n")[:-1]

    first = int(re.match(r"Record (\d+)", focused(page))[1])
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    second = int(re.match(r"Record (\d+)", focused(page))[1])
    page.keyboard.press("Space")
    page.get_by_role("button", name="List · 2 ticks").click()
    dialog = page.get_by_role("dialog")
    assert numbers_of("Numbers", dialog.locator("section").first) == [str(number) for number in sorted([first, second])]
    assert all(id.startswith("class0003/") for id in numbers_of("Ids", dialog.locator("section").first))
    chosen = dialog.locator("section").last
    assert chosen.locator("span").inner_text() == "200 records"
    everything = numbers_of("Numbers", chosen)
    assert len(everything) == 200 and {str(first), str(second)} <= set(everything)
    assert len(numbers_of("Ids", chosen)) == 200
    page.keyboard.press("Escape")
    page.reload()  # ticks live as long as the tab
    page.get_by_role("button", name="List · 2 ticks").wait_for()


def test_a_broken_picture_says_why(marked, open_page):
    page = open_page(marked)
    page.locator(".cell.broken").wait_for()
    assert page.locator(".cell.broken").count() == 1
    label = page.locator(".cell.broken").get_attribute("aria-label")
    assert label.startswith("Record 5") and len(page.locator(".cell.broken .why").inner_text()) > 20
