// differential.mjs - the same arguments to a reference server and to ours, and the results are equal.
//
// The tables in cases/ have scenarios, each with folders of its own: `files` are made in both, `calls` are made of both,
// and what is in the folders afterwards is compared too. ${root} is the scenario's folder. Where a result differs, the
// call names the `difference`, whose reason is in differences.json, and what ours gives (`ours`).
import assert from 'node:assert/strict';
import {chmodSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, utimesSync,
        writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {configuration, finish, folder, ours, passes, reference} from './servers.mjs';

const source = process.env.REFERENCE_SOURCE;
const read = (file) => JSON.parse(readFileSync(join(source, file), 'utf8'));
const differences = read('differences.json');
const used = new Set();

function difference(id) {
    assert.ok(differences[id], `differences.json has no "${id}"`);
    used.add(id);
}

// --------------------------------------------------------------------- files

const put = (value, from, to) => JSON.parse(JSON.stringify(value).replaceAll(from, JSON.stringify(to).slice(1, -1)));

// A file is its text, or an object: `text`, `base64`, `repeat` of the text, `link` (symbolic) or `hard`, and its `mode`.
function make(root, files = {}) {
    mkdirSync(root, {recursive: true});
    for (const [name, given] of Object.entries(files)) {
        const path = join(root, name);
        if (name.endsWith('/')) {
            mkdirSync(path, {recursive: true});
            continue;
        }
        const file = typeof given === 'string' ? {text: given} : put(given, '${root}', root);
        mkdirSync(dirname(path), {recursive: true});
        if (file.link !== undefined) {
            symlinkSync(file.link, path);
        } else if (file.hard !== undefined) {
            linkSync(join(root, file.hard), path);
        } else {
            writeFileSync(path, file.base64 ? Buffer.from(file.base64, 'base64') : (file.text ?? '').repeat(file.repeat ?? 1));
            chmodSync(path, file.mode ? parseInt(file.mode, 8) : 0o644);
            utimesSync(path, 1700000000, 1700000000);
        }
    }
}

function tree(root, below = '') {
    return readdirSync(join(root, below)).sort().flatMap((name) => {
        const path = join(below, name);
        const stat = lstatSync(join(root, path));
        return stat.isDirectory() ? [[path, 'directory'], ...tree(root, path)]
             : stat.isSymbolicLink() ? [[path, 'link', readlinkSync(join(root, path))]]
             : [[path, (stat.mode & 0o777).toString(8), readFileSync(join(root, path)).toString('base64')]];
    });
}

// -------------------------------------------------------------------- results

// What two runs cannot have in common.
function plain(result, root) {
    const text = JSON.stringify({isError: result.isError ?? false, content: result.content, structuredContent: result.structuredContent ?? null});
    return put(JSON.parse(text.replaceAll(root, '${root}')
                              .replace(/(created|accessed): [A-Z][^\\]*/g, '$1: <time>')), '\u0000', '');
}

async function compare(call, servers, roots) {
    const [theirs, mine] = await Promise.all(servers.map(async (server, i) =>
        plain(await server.call(call.tool, put(call.arguments ?? {}, '${root}', roots[i])), roots[i])));
    if (call.isError !== undefined) {
        assert.equal(mine.isError, call.isError, `${call.tool} gave ${JSON.stringify(mine)}`);
    }
    if (call.text !== undefined) {
        assert.equal(mine.content[0]?.text, call.text);
    }
    if (call.difference) {
        difference(call.difference);
        assert.notDeepEqual(mine, theirs, `${call.tool} does not differ: take out "${call.difference}"`);
        assert.deepEqual({...mine, ...call.ours}, mine);
        return;
    }
    if (theirs.isError && mine.isError) {
        difference('error-texts');
        return;
    }
    assert.deepEqual(mine, theirs);
}

async function runTable(name, servers, makeRoots, reset = async () => {}) {
    const table = read(`cases/${name}.json`);
    for (const [at, scenario] of table.entries()) {
        await passes(`${name}: ${scenario.about}`, async () => {
            const roots = makeRoots.map((one) => join(one, String(at)));
            roots.forEach((root) => make(root, scenario.files));
            await reset();
            for (const call of scenario.calls) {
                await compare(call, servers, roots);
            }
            if (scenario.tree_difference) {
                difference(scenario.tree_difference);
                assert.notDeepEqual(tree(roots[1]), tree(roots[0]));
            } else {
                assert.deepEqual(put(tree(roots[1]), roots[1], roots[0]), tree(roots[0]));
            }
        });
    }
}

// ------------------------------------------------------------------ definitions

const hints = {readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true};

async function compareDefinitions(name, theirServer, ourServer, differs = {}) {
    const theirs = (await theirServer.request('tools/list', {})).tools;
    const mine = new Map((await ourServer.request('tools/list', {})).tools.map((tool) => [tool.name, tool]));
    for (const tool of theirs) {
        await passes(`${name}: ${tool.name} takes the same arguments and says the same of itself`, () => {
            const own = mine.get(tool.name);
            assert.ok(own, 'it is not there');
            assert.deepEqual(Object.keys(own.inputSchema.properties ?? {}).sort(), Object.keys(tool.inputSchema.properties ?? {}).sort());
            assert.deepEqual([...own.inputSchema.required ?? []].sort(), [...tool.inputSchema.required ?? []].sort());
            assert.deepEqual(Object.keys(own.outputSchema.properties).sort(), Object.keys(tool.outputSchema.properties).sort());
            assert.equal(own.annotations?.title ?? own.title, tool.title);
            for (const [hint, fallback] of Object.entries(hints)) {
                const [a, b] = [own.annotations?.[hint] ?? fallback, tool.annotations?.[hint] ?? fallback];
                const matters = !(tool.annotations?.readOnlyHint && own.annotations?.readOnlyHint && ['destructiveHint', 'idempotentHint'].includes(hint));
                const id = differs[`${tool.name}/${hint}`];
                if (id) {
                    difference(id);
                    assert.notEqual(a, b);
                } else {
                    assert.ok(!matters || a === b, `${hint} is ${a}, theirs ${b}`);
                }
            }
        });
    }
}

// ----------------------------------------------------------------------- run

const roots = [folder('their'), folder('mine_')]; // of one length, as paths are in what is compared
const own = await ours(configuration(roots[1]));
const filesystem = await reference('server-filesystem', [roots[0]]);
const memory = await reference('server-memory', [], {MEMORY_FILE_PATH: join(folder('memory'), 'memory.jsonl')});
const thinking = await reference('server-sequential-thinking');

await compareDefinitions('filesystem', filesystem, own);
const additive = ['create_entities', 'create_relations', 'add_observations', 'sequentialthinking'];
const unstated = Object.fromEntries(additive.flatMap((tool) => [[`${tool}/destructiveHint`, 'hints-unstated'], [`${tool}/openWorldHint`, 'hints-unstated']]));
await compareDefinitions('memory', memory, own, unstated);
await compareDefinitions('sequential-thinking', thinking, own, {
    ...unstated, 'sequentialthinking/readOnlyHint': 'thinking-is-counted', 'sequentialthinking/idempotentHint': 'thinking-is-counted'});

const nowhere = [folder('none'), folder('none')];
await runTable('filesystem', [filesystem, own], roots);
await runTable('memory', [memory, own], nowhere, async () => {
    for (const server of [memory, own]) {
        const {structuredContent: graph} = await server.call('read_graph', {});
        await server.call('delete_entities', {entityNames: graph.entities.map(({name}) => name)});
        await server.call('delete_relations', {relations: graph.relations});
    }
});
await runTable('thinking', [thinking, own], nowhere);

await passes('each difference that is written down shows in a case', () => {
    const unused = Object.entries(differences).filter(([id, {untested}]) => !untested && !used.has(id)).map(([id]) => id);
    assert.deepEqual(unused, []);
});
await Promise.all([own, filesystem, memory, thinking].map((server) => server.end()));
finish();
