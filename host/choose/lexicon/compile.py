#!/usr/bin/env python3
"""compile.py STEM OUT.c FILE.txt...: the lexicons as C tables (../lexicon.h says what they look like).

STEM is the program of stem-main.c. A line is `keys TAB value`, keys are separated by commas, `#` begins a comment. Four
files are more than that:

  forms.txt        `irregular forms TAB word`: the stem of each form is that of the word
  traditional.txt  `characters TAB characters`: each traditional one and the simplified one in its place
  glossary.txt     `Chinese words TAB English words`: two tables, glossary and, from English, glossary_back; the Chinese
                   words of a line are synonyms, too
  synonyms.txt     `weight TAB words`: each finds the others; `weight TAB words TAB more`: each of the words finds more,
                   and these do not find the words; kinds.txt and questions.txt are like that
"""
import pathlib
import re
import subprocess
import sys

WORD = re.compile(r"[a-z]+|[0-9]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
KEY_MAX = 96
SAME_LINE = "0.7"  # how nearly the same the Chinese words of a line of the glossary are


class Stems:
    """The stems of words: asked for all at once, since each start of the program takes a millisecond."""

    def __init__(self, program, texts, forms):
        words = sorted({word for text in texts for word in WORD.findall(text.lower())})
        done = subprocess.run([program], input="\n".join(words) + "\n", capture_output=True, text=True, check=True,
                              encoding="utf-8")
        self.of = dict(zip(words, done.stdout.split("\n")))
        self.forms = {self.of[form]: self.of[word] for form, word in forms.items()}

    def word(self, word):
        stem = self.of[word]
        return self.forms.get(stem, stem)


def lines_of(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        line = line.split("#")[0].rstrip()
        if line.strip():
            yield number, line.split("\t")


def parts(column):
    return [part.strip() for part in column.split(",") if part.strip()]


def key_of(text, stems, simplified):
    """As words_key() writes it."""
    key, last_han = "", True
    for word in WORD.findall("".join(simplified.get(c, c) for c in text.lower())):
        han = bool(HAN.match(word))
        key += ("" if han and last_han or not key else " ") + stems.word(word)
        last_han = han
    return key


def hash_of(key):
    """As lexicon_hash() of ../lexicon.h."""
    value = 2166136261
    for byte in key:
        value = ((value ^ byte) * 16777619) & 0xffffffff
    return value


class Table:
    def __init__(self, name):
        self.name = name
        self.rows = []  # (key, value), in the order of the file

    def add(self, key, value, place):
        if not key or len(key.encode()) > KEY_MAX:
            sys.exit(f"{place}: no key, or one of more than {KEY_MAX} bytes: {key!r}")
        self.rows.append((key, value))

    def write(self, out):
        self.rows.sort(key=lambda row: row[0].encode())
        offsets, blob = {}, bytearray()
        for text in (text for row in self.rows for text in row):
            if text not in offsets:
                offsets[text] = len(blob)
                blob += text.encode() + b"\0"
        words_max = max((len(WORD.findall(key)) for key, _ in self.rows), default=0)
        slots = self.slots()
        firsts = self.firsts()
        out.append(f"static const unsigned char {self.name}_text[] = {{")
        for at in range(0, len(blob), 24):
            out.append("    " + "".join(f"{byte}," for byte in blob[at:at + 24]))
        out.append("    0};")
        out.append(f"static const struct lexicon_row {self.name}_rows[] = {{")
        out += [f"    {{{offsets[key]}, {offsets[value]}}}," for key, value in self.rows]
        out.append("    {0, 0}};")
        out.append(f"static const struct lexicon_slot {self.name}_slots[] = {{")
        out += [f"    {{{tag}, {row}}}," for tag, row in slots]
        out.append("};")
        out.append(f"static const unsigned char {self.name}_firsts[] = {{")
        out += ["    " + "".join(f"{byte}," for byte in firsts[at:at + 24]) for at in range(0, len(firsts), 24)]
        out.append("};")
        out.append(f"const struct lexicon lexicon_{self.name} = {{(const char *){self.name}_text, {self.name}_rows, "
                   f"{len(self.rows)}, {words_max}, {self.name}_slots, {len(slots) - 1}, {self.name}_firsts, "
                   f"{8 * len(firsts) - 1}}};")

    def firsts(self):
        """A set of bits: that of the hash of each key's first word, at most one of eight."""
        hashes = {hash_of(WORD.match(key).group().encode()) for key, _ in self.rows}
        bits = bytearray(max(1, 1 << (len(hashes) - 1).bit_length()))
        for value in hashes:
            at = value & (8 * len(bits) - 1)
            bits[at // 8] |= 1 << at % 8
        return bits

    def slots(self):
        """A hash table of the keys, at most half full: (upper half of the hash, first row from 1)."""
        firsts = {}
        for at, (key, _) in enumerate(self.rows, 1):
            firsts.setdefault(key, at)
        if len(self.rows) >= 1 << 16:
            sys.exit(f"{self.name}: more rows than a slot can count")
        mask = (1 << (2 * len(firsts) + 1).bit_length()) - 1
        slots = [(0, 0)] * (mask + 1)
        for key, row in firsts.items():
            value = hash_of(key.encode())
            at = value & mask
            while slots[at][1]:
                at = (at + 1) & mask
            slots[at] = (value >> 16, row)
        return slots


def read_synonyms(path, table, key):
    for number, columns in lines_of(path):
        weight, words = columns[0].strip(), [key(word) for word in parts(columns[1])]
        if not re.fullmatch(r"0\.[1-9]", weight):
            sys.exit(f"{path}:{number}: the weight is not 0.1 to 0.9: {weight!r}")
        found = [key(word) for word in parts(columns[2])] if len(columns) > 2 else words
        for word in words:
            others = [other for other in dict.fromkeys(found) if other != word]
            table.add(word, weight + "\t" + "|".join(others), f"{path}:{number}")


def read_glossary(path, table, back, synonyms, key):
    for number, columns in lines_of(path):
        chinese, english = ([key(word) for word in parts(column)] for column in columns[:2])
        for word in chinese:
            others = [other for other in dict.fromkeys(chinese) if other != word]
            if others:
                synonyms.add(word, SAME_LINE + "\t" + "|".join(others), f"{path}:{number}")
        for word in chinese:
            table.add(word, "|".join(dict.fromkeys(english)), f"{path}:{number}")
        for word in english:
            back.add(word, "|".join(dict.fromkeys(chinese)), f"{path}:{number}")


def read_plain(path, table, key):
    for number, columns in lines_of(path):
        for word in parts(columns[0]):
            table.add(key(word), "\t".join(columns[1:]), f"{path}:{number}")


def read_characters(path):
    found = {}
    for number, columns in lines_of(path):
        if len(columns) != 2 or len(columns[0]) != len(columns[1]):
            sys.exit(f"{path}:{number}: not as many characters on both sides")
        for traditional, simplified in zip(*columns):
            if traditional != simplified and found.setdefault(traditional, simplified) != simplified:
                sys.exit(f"{path}:{number}: {traditional} is {found[traditional]} before")
    return found


def write_characters(pairs, out):
    out.append("const struct lexicon_character lexicon_traditional[] = {")
    out += [f"    {{0x{ord(a):04x}, 0x{ord(b):04x}}}," for a, b in sorted(pairs.items())]
    out.append("    {0, 0}};")
    out.append(f"const size_t lexicon_traditional_count = {len(pairs)};")


def main():
    program, target, *paths = sys.argv[1:]
    files = {path.stem.replace("-", "_"): path for path in map(pathlib.Path, paths)}
    simplified = read_characters(files["traditional"])
    forms = {form: columns[1].strip() for _, columns in lines_of(files["forms"]) for form in parts(columns[0])}
    stems = Stems(program, ["".join(simplified.get(c, c) for c in path.read_text(encoding="utf-8"))
                            for path in files.values()], forms)

    def key(text):
        return key_of(text, stems, simplified)

    out = ["/* Made by compile.py. */", '#include "choose/lexicon.h"', ""]
    write_characters(simplified, out)
    tables = {name: Table(name) for name in files}
    for name, path in sorted(files.items()):
        table = tables[name]
        if name == "forms":
            for form, stem in sorted(stems.forms.items()):
                table.add(form, stem, path)
        elif name in ("synonyms", "kinds", "questions"):
            read_synonyms(path, table, key)
        elif name == "glossary":
            back = Table("glossary_back")
            read_glossary(path, table, back, tables["synonyms"], key)
            back.write(out)
        elif name == "traditional":
            continue
        else:
            read_plain(path, table, key)
        table.write(out)
    pathlib.Path(target).write_text("\n".join(out) + "\n", encoding="utf-8")


main()
