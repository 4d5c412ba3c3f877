#!/usr/bin/env python3
"""The weights of host/choose/evaluate.c: calibrate.py MEASURES (what `eval-judge FOLDER measures` prints).

Logistic regression over the best candidate of each item; right and wrong items of each set count alike, and the sets of which
few wishes are plain count less. Prints the balanced accuracy of five folds, by the hash of the id, and the weights for all.
"""
import collections
import csv
import hashlib
import math
import sys

FAMILIES = {"bfcl": 1.0, "live": 1.0, "ace": 1.0, "metatool_reliability": 0.15, "metatool_awareness": 0.15}
MEASURES = ["shared", "objects", "focus", "name", "purpose", "intent", "fit"]
NAMES = ["bias"] + MEASURES + ["required", "given", "values"]
CANDIDATES_MAX = 15
RIVAL_WEIGHT = 0.15
PENALTY = 2.0
ROUNDS = 5


def family_of(source):
    if source.startswith("ace"):
        return "ace"
    return "live" if "live" in source else "bfcl" if source.startswith("bfcl") else source


def fold_of(identity):
    return int(hashlib.sha256(identity.encode()).hexdigest(), 16) % 5


def vector(row):
    values = float(row["values"])
    return ([1.0] + [float(row[name]) for name in MEASURES] +
            [min(8.0, float(row["required"])), min(8.0, float(row["given"])), values / (values + 2)])


def read(path):
    items = collections.OrderedDict()
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            items.setdefault(row["id"], []).append((row["src"], row["kind"], vector(row)))
    ret = {}
    for identity, rows in items.items():
        rows = sorted(rows, key=lambda row: -row[2][1])[:CANDIDATES_MAX] if len(rows) > CANDIDATES_MAX else rows
        ret[identity] = {"family": family_of(rows[0][0]), "call": rows[0][1] != "none",
                         "rows": [(kind, x) for _, kind, x in rows]}
    return ret


def odds(weights, x):
    return sum(a * b for a, b in zip(weights, x))


def solve(matrix, right):
    size = len(right)
    rows = [matrix[i][:] + [right[i]] for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, size):
            factor = rows[k][i] / rows[i][i]
            for j in range(i, size + 1):
                rows[k][j] -= factor * rows[i][j]
    x = [0.0] * size
    for i in range(size - 1, -1, -1):
        x[i] = (rows[i][size] - sum(rows[i][j] * x[j] for j in range(i + 1, size))) / rows[i][i]
    return x


def regress(samples, weights):
    """Newton's method; a sample is (x, 0 or 1, how much it counts)."""
    size = len(samples[0][0])
    for _ in range(12):
        gradient = [0.0] + [-PENALTY * w for w in weights[1:]]
        hessian = [[0.0] * size for _ in range(size)]
        for i in range(size):
            hessian[i][i] = PENALTY if i else 1e-6
        for x, target, count in samples:
            p = 1 / (1 + math.exp(-max(-30, min(30, odds(weights, x)))))
            for i in range(size):
                gradient[i] += count * (target - p) * x[i]
                for j in range(size):
                    hessian[i][j] += count * p * (1 - p) * x[i] * x[j]
        step = solve(hessian, gradient)
        weights = [a + b for a, b in zip(weights, step)]
        if max(map(abs, step)) < 1e-4:
            break
    return weights


def train(items):
    counts = collections.Counter((item["family"], item["call"]) for item in items)
    weights = [0.0, 1.0] + [0.0] * (len(NAMES) - 2)
    for _ in range(ROUNDS):
        samples = []
        for item in items:
            count = 400.0 * FAMILIES[item["family"]] / counts[item["family"], item["call"]]
            best = max((x for _, x in item["rows"]), key=lambda x: odds(weights, x))
            right = [x for kind, x in item["rows"] if kind == "this"]
            samples.append((right[0] if right else best, int(item["call"]), count))
            wrong = [x for kind, x in item["rows"] if kind == "other"]
            if wrong:
                samples.append((max(wrong, key=lambda x: odds(weights, x)), 0, RIVAL_WEIGHT * count))
        weights = regress(samples, weights)
    return weights


def judge(items, weights):
    counts = collections.defaultdict(lambda: [0, 0, 0, 0])
    for item in items:
        chosen = max(odds(weights, x) for _, x in item["rows"]) >= 0
        count = counts[item["family"]]
        count[0 if item["call"] else 2] += 1
        count[1 if item["call"] else 3] += chosen == item["call"]
    return {family: (c[1] / c[0] + c[3] / c[2]) / 2 for family, c in counts.items() if c[0] and c[2]}


def main():
    items = read(sys.argv[1])
    folds = []
    for fold in range(5):
        weights = train([item for identity, item in items.items() if fold_of(identity) != fold])
        folds.append(judge([item for identity, item in items.items() if fold_of(identity) == fold], weights))
    for family in FAMILIES:
        values = [fold[family] for fold in folds]
        print(family, "%.3f" % (sum(values) / 5), "folds", *("%.3f" % value for value in values))
    for name, weight in zip(NAMES, train(list(items.values()))):
        print(name, "%.2f" % weight)


main()
