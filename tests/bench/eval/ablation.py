#!/usr/bin/env python3
"""ablation.py EVAL SCRATCH [SIGNAL...]: what each signal of choosing gives on each set of an evaluation.

Builds a copy of this tree in SCRATCH, takes one signal out of it after the other, asks for all that it may change, and
prints what is lost without it: the score of the whole minus that without the signal, in thousandths, and between
which limits it lies in the five folds. A signal is a number in the sources, which another takes the place of: that of
a signal that says nothing; or a call, or a lexicon. Weights that were found together are not found anew, so a number
near 0 says that a signal gives nothing, a large one not exactly how much. Rows that lose nothing in any fold are not
printed. The last line names the signals that give nothing on any set. With SIGNALs, only those whose names begin so.
EVAL is as for scores.py.
"""
import pathlib
import re
import subprocess
import sys

import scores

MATCH, EVALUATE, FIT = ("host/choose/" + name for name in ("match-find.c", "evaluate.c", "fit.c"))
SELECT, FIT_COUNTS = "host/choose/select.c", "host/choose/fill-fit.c"
EVIDENCE, FILL, VALUES = ("host/choose/" + name for name in ("evidence.c", "fill.c", "values.c"))
PRIORS = "host/choose/evidence-parts.h"
SEARCH, CHOICE, RANKED, PAST, ARGUMENTS = ["search"], ["select"], ["retrieval"], ["history"], ["args"]


def member(name, neutral, kinds):
    return f"match.{name}", MATCH, rf"(?m)^( {{8}}\.{name} = )[^,]+,", rf"\g<1>{neutral},", kinds


def step(name, path, pattern, replacement, kinds):
    return f"step.{name}", path, pattern, replacement, kinds


def measure(name):
    return f"fit.{name}", EVALUATE, rf"X\({name}, [^)]*\)", f"X({name}, 0.0)", CHOICE


def constant(path, name, neutral, kinds):
    return f"{pathlib.Path(path).stem}.{name}", path, rf"(#define {name}\s+)\S+", rf"\g<1>{neutral}", kinds


def argument(name, path, pattern, replacement=""):
    return f"argument.{name}", path, pattern, replacement, ARGUMENTS


def lexicon(name):
    return f"lexicon.{name}", f"host/choose/lexicon/{name}.txt", r"(?s)\A.*\Z", "", ARGUMENTS


# Name, file, what is replaced by what, and the kinds of predictions that it may change.
SIGNALS = [
    # Steps, and the parts of step 4, as wholes. The row of step 3 alone is "search" beside "retrieval" of the whole.
    step("scene", SELECT, r"    narrow\(selecting\);\n", "", CHOICE + RANKED),
    step("evaluate.match", EVALUATE, r" match_odds\(tool", " 0 * match_odds(tool", CHOICE + RANKED),
    step("evaluate.words", EVALUATE, r" function_odds\(&ret", " FUNCTION_BIAS + 0 * function_odds(&ret",
         CHOICE + RANKED),
    step("evaluate.parameters", EVALUATE, r"= function \+ parameters \+", "= function +", CHOICE + RANKED),
    *(member(name, 0, SEARCH + CHOICE) for name in ("stop", "number", "joined", "crossing", "synonym", "translation",
                                                     "translation_too", "name", "group", "whole", "clause",
                                                     "clause_sure", "base")),
    member("quoted", 256, SEARCH + CHOICE),
    member("clauses", "false", SEARCH + CHOICE),
    member("turns", "false", SEARCH + CHOICE),
    *(member(name, 1, SEARCH + CHOICE) for name in ("other_action", "unasked_action", "called_before", "called_again")),
    member("history", 0, PAST),
    *(measure(name) for name in ("shared", "objects", "name", "purpose", "intent", "head", "scene")),
    *(constant(EVALUATE, name, 0.0, CHOICE) for name in ("FIT_WEIGHT", "REQUIRED_WEIGHT", "GIVEN_WEIGHT",
                                                          "KIND_WEIGHT", "SPARE_WEIGHT", "BESIDE_WEIGHT",
                                                          "COVERAGE_WEIGHT", "NAMED_WEIGHT", "LEFT_WEIGHT", "COST_WEIGHT",
                                                          "SUCCESS_WEIGHT")),
    constant(EVALUATE, "HISTORY_WEIGHT", 0.0, PAST),
    *(constant(FIT, name, 1.0, CHOICE) for name in ("WEIGHT_VERB", "WEIGHT_NAME", "WEIGHT_QUOTED", "WEIGHT_QUESTION",
                                                     "WEIGHT_HAN", "WEIGHT_VALUE")),
    *(constant(FIT, name, 0.0, CHOICE) for name in ("STRENGTH_PARAMETER", "FACTOR_TRANSLATION", "FACTOR_SYNONYM")),
    # What speaks for a tool beside values that it takes, and Chinese words that mean the same.
    ("parameters.coordinates", FIT_COUNTS, r"if \(lacks && ", "if (false && lacks && ", CHOICE + RANKED),
    ("parameters.article", FIT_COUNTS, r"!is_article\((\w+, \w+)\)", r"(!is_article(\1) || true)", CHOICE + RANKED),
    ("lexicon.glossary_lines", "host/choose/lexicon/compile.py", r"            if others:", "            if False:",
     SEARCH + CHOICE + RANKED),
    # Step 5: kinds of values, what is done with all values of a tool together, evidence for one of them, lexicons.
    argument("now", VALUES, r"if \(!context->has_now \|\|", "if (true ||"),
    *(argument(name, VALUES, rf"    value_find_{name}\(values\);\n")
      for name in ("context", "texts", "pieces", "times", "numbers", "picks", "expressions", "terms", "names", "lists",
                   "classes", "parts")),
    argument("replaced", VALUES, r"    value_drop_replaced\(values\);\n"),
    argument("from_context", FILL, r"    fill_from_context\(fill\);\n"),
    argument("ranges", FILL, r"    fill_ranges\(fill\);\n"),
    argument("clauses", FILL, r"fill_clauses\(fill\) && "),
    argument("groups", FILL, r" && fill_groups\(fill\)"),
    argument("guesses", FILL, r"    fill_settle_guesses\(fill\);\n"),
    # No set has a case of these: test-choose-arguments has of TIME_BONUS and PRIOR_NAMED ("list events tomorrow", "b=2 and
    # a=40"), test-choose-promise of labels ("with subject Hi and body see you").
    argument("labels", FILL, r"        fill_labels\(fill\);\n"),
    *(constant(FILL, name, 0, ARGUMENTS) for name in ("TIME_BONUS", "EXCHANGE_ROUNDS")),
    argument("weights", EVIDENCE, r"evidence_weights\[", "0 * evidence_weights["),
    *(constant(PRIORS, f"PRIOR_{name}", 0, ARGUMENTS)
      for name in ("KIND", "ROLE", "NAMED", "UNIT", "DENIED", "STATED", "SAID", "INSIDE", "OTHER", "COUNT", "PIECE",
                   "CLASS")),
    *(lexicon(name) for name in ("calendar", "classes", "concepts", "cues", "currencies", "hints", "languages", "locales",
                                 "numbers", "places", "references", "roles", "things", "truths", "units")),
]
# What eval-choose is asked for each kind.
KINDS = {"search": ["retrieval", "search"], "retrieval": ["retrieval"], "history": ["retrieval", "history"],
         "select": ["select"], "args": ["args"]}
HERE = pathlib.Path(__file__).resolve().parent.parent.parent.parent


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def copy(scratch):
    """The tree as it lies here, built as it is measured; what is built already stays."""
    source = scratch / "source"
    source.mkdir(parents=True, exist_ok=True)
    for name in ("host", "plugin-sdk", "plugins", "tests", "meson.build", "meson_options.txt"):
        run("cp", "-a", "-u", HERE / name, source)
    if not (scratch / "build" / "build.ninja").exists():
        run("meson", "setup", scratch / "build", source, "--buildtype=release", "-Dbench=enabled", "-Dtests=disabled",
            stdout=subprocess.DEVNULL)
    return source


def measure_all(evaluation, scratch, kinds):
    """The scores of what is built from the copy: {(kind, row): [score, those of its folds...]}."""
    run("ninja", "-C", scratch / "build", "tests/bench/eval-choose", stdout=subprocess.DEVNULL)
    for old in scratch.glob("*.pred.jsonl"):
        old.unlink()
    for kind in kinds:
        with open(scratch / f"{kind}.pred.jsonl", "wb") as out:
            run(scratch / "build/tests/bench/eval-choose", KINDS[kind][0], evaluation, *KINDS[kind][1:],
                stdout=out, stderr=subprocess.DEVNULL)
    return {(kind, name): [score, *folds] for kind, name, _, score, folds in scores.scores(evaluation, scratch)}


def told(lost):
    """What is lost, [of all, of each fold...], in thousandths with its limits."""
    most, least = max(lost[1:]), min(lost[1:])
    return f"{1000 * lost[0]:+.0f} ({1000 * least:+.0f} to {1000 * most:+.0f})"


def without(source, path, pattern, replacement):
    """Take a signal out; returns what puts it back."""
    file = source / path
    before = file.read_text(encoding="utf-8")
    after, count = re.subn(pattern, replacement, before)
    if count != 1:
        sys.exit(f"{path} has {count} of {pattern}: adapt the table of signals")
    file.write_text(after, encoding="utf-8")
    return lambda: file.write_text(before, encoding="utf-8")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    evaluation, scratch = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    wanted = [signal for signal in SIGNALS if len(sys.argv) == 3 or signal[0].startswith(tuple(sys.argv[3:]))]
    source = copy(scratch)
    whole = measure_all(evaluation, scratch, sorted({kind for signal in wanted for kind in signal[4]}))
    for (kind, name), (score, *_) in whole.items():
        print(f"{'the whole':24} {kind:9} {name:22} {score:.3f}")
    useless = []
    for signal, path, pattern, replacement, kinds in wanted:
        restore = without(source, path, pattern, replacement)
        try:
            found = measure_all(evaluation, scratch, kinds)
        except subprocess.CalledProcessError:
            print(f"{signal:24} cannot be left out", flush=True)
            continue
        finally:
            restore()
        lost = {row: [a - b for a, b in zip(whole[row], found[row])] for row in found}
        rows = [f"{name} {told(lost[kind, name])}" for kind, name in lost if any(lost[kind, name])]
        print(f"{signal:24} " + (", ".join(rows) or "nothing"), flush=True)
        if all(of_all <= 0 for of_all, *_ in lost.values()):
            useless.append(signal)
    print("give nothing on any set:", ", ".join(useless) or "none")


if __name__ == "__main__":
    main()
