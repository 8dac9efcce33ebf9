"""Copies the documents, and the files that they link to, to build/docs-source, at the same places:
the links are the same in the repository and in HTML.

The beginning of README.md becomes the head of the first page."""
import pathlib
import re
import shutil

target = pathlib.Path("build/docs-source")


def take(path):
    place = target / path
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, place)


for page in pathlib.Path(".").rglob("*.md"):
    if page.parts[0] in ("build", ".deps", ".git"):
        continue
    take(page)
    text = (target / page).read_text()
    # The search shows users' pages first.
    is_users = str(page) in ("README.md", "format/FORMAT.md", "format/FORMAT-v1.md", "format/DCT.md") or page.parts[:-1] == ("docs",) and page.stem not in ("house", "contributing", "build-times")
    if not is_users:
        (target / page).write_text("---\nsearch:\n  boost: 0.2\n---\n\n" + text)
    for link in set(re.findall(r"\]\(([^)#:\s]+)", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))):
        linked = page.parent / link
        if linked.is_file() and linked.suffix != ".md":
            take(linked.resolve().relative_to(pathlib.Path.cwd()))

# The first page: what README.md says first is a head with buttons and cards, and has the page's
# width.
readme = target / "README.md"
intro, rest = readme.read_text().split("\n## ", 1)
words, points = intro.split("\n- ", 1)
buttons = [("Install", "docs/install.html"), ("Coming from another loader", "docs/coming-from.html"), ("Python", "docs/python.html"), ("Benchmarks", "docs/benchmarks.html")]
links = "".join(f'<a class="md-button{" md-button--primary" if i == 0 else ""}" href="{place}">{name}</a>\n' for i, (name, place) in enumerate(buttons))
readme.write_text(f"""---
hide: [navigation, toc]
---

<div class="head" markdown>

{words.strip()}

<p class="buttons">
{links}</p>
</div>
<div class="cards" markdown>

- {points.strip()}

</div>

## {rest}""")

# Doxygen's pages are no documents of MkDocs, which would not know this link.
(target / "reference.md").write_text("""# Reference of the headers

[The reference](reference/index.html) lists the classes and functions of the public headers of `format/`, `storage/`, `image/`, `converter/`, `loader/`, `nuscenes/`, `pose/`, `text/` and `trainer/`.
""")
