#!/usr/bin/env python3
"""scores.py EVAL PREDICTIONS: what the predictions of eval-choose are worth, each set with five folds.

EVAL is the folder of the data, with score.py in it. PREDICTIONS has KIND.pred.jsonl for each of retrieval, search,
history, select, args and plan that was predicted (`search` and `history` are predictions for retrieval.jsonl):

    eval-choose retrieval EVAL search > PREDICTIONS/search.pred.jsonl

A fold is what the hash of an item's id modulo five says: a gain that one fold carries alone is none.
"""
import hashlib
import importlib.util
import json
import math
import pathlib
import sys

FOLDS = 5
SCORER = None  # score.py


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def fold(item):
    return int(hashlib.sha256(item["id"].encode()).hexdigest(), 16) % FOLDS


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else math.nan


def begins(*prefixes):
    return lambda item: item["src"].startswith(prefixes)


def hit(item, prediction):
    return prediction.get("ranked", [None])[:1] != [] and prediction["ranked"][0] in item["gold"]


def recall(most):
    return lambda item, prediction: len(set(item["gold"]) & set(prediction["ranked"][:most])) / len(item["gold"])


def complete(item, prediction):
    return set(item["gold"]) <= set(prediction["ranked"][:5])


def balanced(item, prediction):
    return (prediction["tool"] is None) != bool(item["gold"])


def right(item, prediction):
    return prediction["tool"] in item["gold"]


RANKED = [("seal complete@5", begins("seal"), complete), ("toolbench R@5", begins("toolbench"), recall(5)),
          ("ace hit@1", begins("ace"), hit), ("azure R@1", begins("azure"), recall(1)),
          ("metatool R@1", begins("metatool"), recall(1)), ("ha en R@1", begins("ha_en"), recall(1)),
          ("ha zh R@1", begins("ha_zh"), recall(1))]
# Predictions, gold, rows of the table: name, which items, what one is worth.
TABLE = {
    "search": ("retrieval", RANKED),
    "retrieval": ("retrieval", RANKED),
    "history": ("retrieval", [("metatool R@1, history", begins("metatool"), recall(1))]),
    "select": ("select", [
        ("abstains, BFCL", lambda item: item["src"].startswith("bfcl") and "live" not in item["src"], balanced),
        ("abstains, BFCL live", lambda item: item["src"].startswith("bfcl") and "live" in item["src"], balanced),
        ("abstains, ACE", begins("ace"), balanced),
        ("right tool", lambda item: item["gold"] not in ([], ["*"]), right)]),
    "args": ("args", [
        ("args", lambda item: True, None), ("args with a now", lambda item: bool(item.get("now")), None),
        ("args without a now", lambda item: not item.get("now"), None),
        ("args text", lambda item: item["level"] == "text", None),
        ("args BFCL simple", begins("bfcl_simple", "bfcl_live_simple"), None),
        ("args ACE zh", lambda item: item["src"].startswith("ace") and item["lang"].startswith("zh"), None)]),
    "plan": ("plan", [
        ("nodes F1", lambda item: True, "node_F1"), ("nodes F1, seal", begins("seal", "worf"), "node_F1"),
        ("nodes F1, BFCL", begins("bfcl"), "node_F1"), ("nodes F1, ACE", begins("ace"), "node_F1"),
        ("edges F1, glaive", begins("nestful_glaive"), "edge_F1"),
        ("false edges, seal", begins("seal_parallel"), "false_edges_per_plan"),
        ("false edges, BFCL", begins("bfcl"), "false_edges_per_plan"),
        ("false edges, ACE", begins("ace"), "false_edges_per_plan")]),
}


def worth(items, predictions, value):
    """The mean; where abstaining is judged, that of what should and what should not be chosen; of plans a figure of score.py."""
    if isinstance(value, str):
        return SCORER.score_plan(items, predictions).get(value, math.nan)
    if value is balanced:
        groups = [[i for i in items if i["gold"]], [i for i in items if not i["gold"]]]
        return mean(worth(group, predictions, lambda i, p: balanced(i, p)) for group in groups)
    return mean(value(item, predictions[item["id"]]) for item in items)


def scorer(evaluation):
    spec = importlib.util.spec_from_file_location("score", evaluation / "score.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scores(evaluation, folder):
    """Of each kind that was predicted: name of the row, number of items, its score and those of its folds."""
    global SCORER
    module = SCORER = scorer(evaluation)

    def exact(item, prediction):
        return bool(module.args_ok(prediction.get("args") or {}, item["gold"]))

    for kind, (gold, table) in TABLE.items():
        path = folder / f"{kind}.pred.jsonl"
        if not path.exists():
            continue
        predictions = {row["id"]: row for row in rows(path)}
        items = [item for item in rows(evaluation / f"{gold}.jsonl") if item["id"] in predictions]
        for name, has, value in table:
            own = [item for item in items if has(item)]
            folds = [worth([item for item in own if fold(item) == k], predictions, value or exact)
                     for k in range(FOLDS)]
            yield kind, name, len(own), worth(own, predictions, value or exact), folds


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    last = None
    for kind, name, count, score, folds in scores(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])):
        if kind != last:
            print(kind)
        last = kind
        print(f"  {name:22} {score:.3f}  folds {' '.join(f'{one:.3f}' for one in folds)}  of {count}")


if __name__ == "__main__":
    main()
