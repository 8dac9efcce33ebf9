"""Prints a header for Doxygen. It has plain // comments: those before a declaration become ///,
those behind one ///<, the text as it is."""
import re
import sys


def escaped(text):
    text = re.sub(r"([\\@<>&#%$\"]|::)", r"\\\1", text)
    return re.sub(r"`([^`]+)`", r"<tt>\1</tt>", text)


path = sys.argv[1]
first = True
print("/// @file")
for line in open(path, encoding="utf-8"):
    line = line.rstrip("\n")
    code, comment = re.fullmatch(r"((?:[^\"/]|\"(?:[^\"\\]|\\.)*\"|/(?!/))*)(?://[/!]?<?(.*))?", line).groups()
    if comment is None:
        print(line)
        first = first and line == ""
        if first:
            print()
    elif code.strip():
        print(f"{code}///<{escaped(comment)}")
    elif comment.startswith(" NOLINT"):
        print()
    else:
        print(f"{code}///{escaped(comment)}" if not first else f"///{escaped(comment)}")
