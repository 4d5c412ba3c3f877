#!/usr/bin/env python3
"""Mark the candidates that eval-evidence printed as right or wrong: label-evidence.py SCORE.py ITEMS.jsonl <features >labelled

Per parameter "P fold" (the fold of the item, 0 to 4, by the sha256 of its id), per candidate "1 feature ..." or "0 feature ...".
A parameter of which no candidate is right is left out."""
import hashlib, importlib.util, json, sys

spec = importlib.util.spec_from_file_location('score', sys.argv[1])
score = importlib.util.module_from_spec(spec)
spec.loader.exec_module(score)
items = {}
for line in open(sys.argv[2], encoding='utf-8'):
    item = json.loads(line)
    items[item['id']] = item


def accepted(gold, pointer):
    """The accepted values at a pointer; None: the parameter is to be left out."""
    node = gold
    parts = pointer.split('/')[1:]
    for i, part in enumerate(parts):
        if isinstance(node, list) and part == '0':
            node = node[0] if node else None
        elif isinstance(node, dict):
            node = node.get(part)
        else:
            return None
        if node is None:
            return None
        if i + 1 < len(parts) and isinstance(node, list):
            inner = [x for x in node if isinstance(x, (dict, list))]
            node = inner[0] if inner else None
    return node


def right(text, alternatives):
    if text == '':
        return alternatives is None or score.optional(alternatives)
    return alternatives is not None and score.any_eq(json.loads(text), alternatives)


block, gold, fold, pointer = [], None, 0, None


def flush():
    if any(label for label, _ in block):
        print('P', fold)
        for label, features in block:
            print(int(label), features)
    block.clear()


for line in sys.stdin.buffer:
    line = line.decode('utf-8', 'replace').rstrip('\n')
    if line.startswith('C '):
        text, features = line[2:].rsplit('\t', 1)
        try:
            block.append((right(text, alternatives), features))
        except ValueError:
            pass
    else:
        flush()
        if line.startswith('Q '):
            item = items[line[2:]]
            fold = int(hashlib.sha256(item['id'].encode()).hexdigest(), 16) % 5
        else:
            alternatives = accepted(item['gold'], line[2:])
flush()
