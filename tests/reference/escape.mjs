// escape.mjs - the plugin filesystem within its folders, whatever paths it is given and whatever another process does to
// them meanwhile; and what each plugin says that was granted less than it declares.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:net';
import {join} from 'node:path';
import {Worker} from 'node:worker_threads';
import {command, configuration, finish, folder, ours, passes, Server, skip} from './servers.mjs';

const secret = 'the secret of outside';
const root = folder('root');
const outside = folder('root-outside'); // a prefix of it is the granted folder
writeFileSync(join(outside, 'secret.txt'), secret);
writeFileSync(join(root, 'inside.txt'), 'inside');

const server = await ours(configuration(root));

// Each tool with a path.
const withPath = (path) => [
    ['read_file', {path}], ['read_text_file', {path}], ['read_text_file', {path, head: 1}], ['read_text_file', {path, tail: 1}],
    ['read_media_file', {path}], ['read_multiple_files', {paths: [path]}], ['write_file', {path, content: 'x'}],
    ['edit_file', {path, edits: [{oldText: 'i', newText: 'a'}]}], ['create_directory', {path: `${path}/made`}],
    ['list_directory', {path}], ['list_directory_with_sizes', {path}], ['directory_tree', {path}],
    ['search_files', {path, pattern: '**'}], ['get_file_info', {path}],
    ['move_file', {source: path, destination: join(root, 'moved')}], ['move_file', {source: join(root, 'inside.txt'), destination: path}],
];

function state() {
    return [readdirSync(outside).sort(), readFileSync(join(outside, 'secret.txt'), 'utf8'), readFileSync(join(root, 'inside.txt'), 'utf8')];
}

async function refuses(path, on = server) {
    const before = state();
    for (const [tool, args] of withPath(path)) {
        const result = await on.call(tool, args);
        const text = JSON.stringify(result);
        assert.ok(!text.includes(secret), `${tool} of ${path} gave it away: ${text}`);
        assert.ok(result.isError || (tool === 'read_multiple_files' && text.includes('Error - ')), `${tool} of ${path}: ${text}`);
    }
    assert.deepEqual(state(), before);
}

// --------------------------------------------------------------------- paths

symlinkSync(join(outside, 'secret.txt'), join(root, 'file-link'));
symlinkSync(outside, join(root, 'folder-link'));
symlinkSync('../root-outside', join(root, 'relative-link'));
symlinkSync('/proc/self/root', join(root, 'magic-link'));
symlinkSync('folder-link', join(root, 'link-to-link'));
mkdirSync(join(root, 'deep/er'), {recursive: true});
symlinkSync('../../../root-outside', join(root, 'deep/er/up'));

for (const [about, path] of Object.entries({
    'a folder whose name begins alike': join(outside, 'secret.txt'),
    '..': `${root}/../root-outside/secret.txt`,
    '.. behind names that are not there': `${root}/a/b/../../../root-outside/secret.txt`,
    'a relative path that leads out': '../root-outside/secret.txt',
    'a link to a file': join(root, 'file-link'),
    'a link to a folder': join(root, 'folder-link/secret.txt'),
    'a relative link': join(root, 'relative-link/secret.txt'),
    'a link to a link': join(root, 'link-to-link/secret.txt'),
    'a link far below': join(root, 'deep/er/up/secret.txt'),
    'a link and ..': `${root}/folder-link/../../root-outside/secret.txt`,
    'a link of /proc': join(root, 'magic-link', outside, 'secret.txt'),
    '/proc': `/proc/self/root${outside}/secret.txt`,
    'a descriptor in /proc': '/proc/self/fd/0',
    'a zero character': `${join(outside, 'secret.txt')}\u0000${root}`,
    'a path longer than the system takes': `${root}/${'x/'.repeat(3000)}`,
    'many ..': `${root}/${'../'.repeat(100)}${outside}/secret.txt`,
})) {
    await passes(`every tool refuses ${about}`, () => refuses(path));
}

// --------------------------------------------------------------------- files

await passes('a hard link is read, and what is written does not reach the file outside', async () => {
    linkSync(join(outside, 'secret.txt'), join(root, 'hard'));
    assert.equal((await server.call('read_text_file', {path: join(root, 'hard')})).content[0].text, secret);
    await server.call('write_file', {path: join(root, 'hard'), content: 'x'});
    await server.call('edit_file', {path: join(root, 'hard'), edits: [{oldText: 'x', newText: 'y'}]});
    assert.equal(readFileSync(join(outside, 'secret.txt'), 'utf8'), secret);
    assert.equal(readFileSync(join(root, 'hard'), 'utf8'), 'y');
});

async function isNoFile(path) {
    for (const [tool, args] of withPath(path).filter(([tool]) => /^read|^write|^edit/.test(tool))) {
        const text = JSON.stringify(await server.call(tool, args));
        assert.match(text, /no regular file/, tool);
    }
}

await passes('a fifo is not waited for', async () => {
    spawnSync('mkfifo', [join(root, 'fifo')]);
    await isNoFile(join(root, 'fifo'));
});

await passes('a socket is no file', async () => {
    const listener = createServer().listen(join(root, 'socket'));
    await new Promise((resolve) => listener.once('listening', resolve));
    await isNoFile(join(root, 'socket'));
    listener.close();
});

const device = join(root, 'device');
if (spawnSync('mknod', [device, 'c', '1', '5']).status === 0) {
    await passes('a device is no file', () => isNoFile(device));
} else {
    skip('a device is no file', 'devices cannot be made here');
}

await passes('of a file of 3 GiB only parts are read', async () => {
    const path = join(root, 'huge');
    writeFileSync(path, 'first\nsecond\n');
    truncateSync(path, 3 * 2 ** 30);
    for (const [args, advice] of [[{path}, /too long.*head or tail/], [{path, tail: 2}, /too long.*ask for fewer/],
                                  [{path, tail: 1}, /too long: this line alone/], [{path, head: 3}, /too long.*ask for fewer/]]) {
        assert.match((await server.call('read_text_file', args)).content[0].text, advice);
    }
    assert.match((await server.call('read_media_file', {path})).content[0].text, /too long/);
    assert.match((await server.call('edit_file', {path, edits: []})).content[0].text, /too long/);
    assert.equal((await server.call('read_text_file', {path, head: 2})).content[0].text, 'first\nsecond');
    assert.match((await server.call('get_file_info', {path})).content[0].text, /size: 3221225472/);
});

await passes('names that are not UTF-8 or have line ends are told apart, each in one row', async () => {
    const path = join(root, 'names');
    mkdirSync(path);
    for (const byte of [0xfe, 0xff]) {
        writeFileSync(Buffer.concat([Buffer.from(`${path}/a\n`), Buffer.from([byte, 0xe2, 0x82])]), '');
    }
    writeFileSync(join(path, 'b\u2028\u0085'), '');
    const names = ['"a\\n\\xfe\\xe2\\x82"', '"a\\n\\xff\\xe2\\x82"', '"b\\u2028\\u0085"'];
    assert.equal((await server.call('list_directory', {path})).content[0].text, names.map((name) => `[FILE] ${name}`).join('\n'));
    assert.equal((await server.call('search_files', {path, pattern: '**'})).content[0].text,
                 names.map((name) => `"${path}/${name.slice(1)}`).join('\n'));
    const rows = (await server.call('list_directory_with_sizes', {path})).content[0].text.split('\n');
    assert.deepEqual(rows.slice(0, 3).map((row) => row.slice(7, 7 + names[0].length).trim()).sort(), names);
    assert.equal(rows.length, 6);
});

await passes('a tree that is too deep is an error, and a search leaves out what is', async () => {
    mkdirSync(join(root, 'pit', ...Array(230).fill('p')), {recursive: true});
    assert.equal((await server.call('directory_tree', {path: join(root, 'pit')})).isError, true);
    const found = (await server.call('search_files', {path: join(root, 'pit'), pattern: '**/p'})).content[0].text.split('\n');
    assert.ok(found.length > 190 && found.length < 230, `${found.length}`);
});

await passes('patterns that take long end', async () => {
    mkdirSync(join(root, 'a'.repeat(200)));
    for (const pattern of ['*a'.repeat(100) + 'b', '+(+(+(a)))b', '*(*(a)*(a))b', '{'.repeat(500), '[' + 'a-'.repeat(500), '(' .repeat(1000)]) {
        await server.call('search_files', {path: root, pattern, excludePatterns: ['deep/**', 'pit/**']});
    }
    const {isError, content} = await server.call('search_files', {path: root, pattern: '{a,b}'.repeat(20)});
    assert.ok(isError && /more than 1000 patterns/.test(content[0].text), content[0].text);
});

// --------------------------------------------------------------------- races

// Another process makes a folder a link and a link a folder, without end.
async function race(about, swap, calls) {
    await passes(`nothing leads out while another process ${about}`, async () => {
        const before = state();
        const swapper = new Worker(`
            const fs = require('node:fs');
            const {workerData: {swap, flag}} = require('node:worker_threads');
            const stop = new Int32Array(flag);
            for (let i = 0; Atomics.load(stop, 0) === 0; i++) {
                for (const [what, from, to] of swap) fs[what](from, to);
                Atomics.store(stop, 1, i);
            }`, {eval: true, workerData: {swap, flag: calls.flag = new SharedArrayBuffer(8)}});
        const stop = new Int32Array(calls.flag);
        const ended = new Promise((resolve, reject) => swapper.once('exit', resolve).once('error', reject));
        let answers = 0;
        let refusals = 0;
        try {
            // Until both kinds of answers came often and the other process went round often.
            const wants = () => Atomics.load(stop, 1) < 200 || answers === 0 || refusals === 0;
            for (let i = 0; i < 200 || (wants() && i < 20_000); i++) {
                const results = await Promise.all(calls.of(i).map(([tool, args]) => server.call(tool, args)));
                for (const result of results) {
                    const text = JSON.stringify(result);
                    assert.ok(!text.includes(secret) && (result.isError || !text.includes('secret.txt')), text);
                    result.isError ? refusals++ : answers++;
                }
            }
        } finally {
            Atomics.store(stop, 0, 1);
            await ended;
        }
        assert.ok(answers > 0 && refusals > 0, `${answers} answers, ${refusals} refusals`);
        assert.deepEqual(state(), before);
    });
}

mkdirSync(join(root, 'race/folder'), {recursive: true});
symlinkSync(outside, join(root, 'race/link'));
writeFileSync(join(root, 'race/folder/other.txt'), 'mine');
writeFileSync(join(root, 'race/file'), 'mine');
writeFileSync(join(root, 'race/folder/kept'), 'mine');
symlinkSync(join(outside, 'secret.txt'), join(root, 'race/file-link'));
const at = (name) => join(root, 'race', name);
const turn = (one, two) => [[at(one), at('aside')], [at(two), at(one)], [at(one), at(two)], [at('aside'), at(one)]]
    .map((names) => ['renameSync', ...names]);
const lead = (to) => [['symlinkSync', to, at('next')], ['renameSync', at('next'), at('switch')]];
await race('makes a folder a link', turn('folder', 'link'), {of: (i) => [
    ['read_text_file', {path: at('folder/other.txt')}], ['read_text_file', {path: at('folder/secret.txt')}].slice(0, i % 2 ? 2 : 0),
    ['list_directory', {path: at('folder')}], ['write_file', {path: at(`folder/new-${i % 5}`), content: 'x'}],
    ['directory_tree', {path: at('folder')}], ['search_files', {path: at('folder'), pattern: '**'}],
].filter((call) => call.length)});
await race('moves a folder, where files are moved in and out', turn('folder', 'link'), {of: (i) => [
    ['move_file', {source: at('folder/secret.txt'), destination: at('stolen')}], ['list_directory', {path: at('folder')}],
    ['move_file', i % 2 ? {source: at('kept'), destination: at('folder/kept')} : {source: at('folder/kept'), destination: at('kept')}],
]});
assert.ok(!readdirSync(join(root, 'race')).includes('stolen'));
await race('makes a file a link', turn('file', 'file-link'), {of: (i) => [
    ['read_text_file', {path: at('file')}], ['read_text_file', {path: at('file'), tail: 1}], ['edit_file', {path: at('file'), dryRun: true, edits: [{oldText: 'm', newText: `${i}`}]}],
    ['get_file_info', {path: at('file')}],
]});
symlinkSync('folder', at('switch'));
await race('leads a link elsewhere', [...lead(outside), ...lead('folder')], {of: (i) => [
    ['read_text_file', {path: at('switch/other.txt')}], ['read_media_file', {path: at('switch/secret.txt')}].slice(0, i % 2 ? 2 : 0),
    ['write_file', {path: at(`switch/new-${i % 5}`), content: 'x'}], ['create_directory', {path: at(`switch/made-${i % 3}`)}],
    ['move_file', {source: at(`switch/new-${i % 5}`), destination: at(`switch/moved-${i}`)}], ['list_directory_with_sizes', {path: at('switch')}],
].filter((call) => call.length)});
await server.end();

// --------------------------------------------------------------------- mounts

const mounted = folder('root', 'mounted');
const inMounts = ['unshare', '-m', 'sh', '-c', `mount --bind "$1" "$2" && shift 2 && exec "$@"`, 'sh', outside, mounted];
if (spawnSync(inMounts[0], [...inMounts.slice(1), 'true']).status === 0) {
    await passes('what an administrator mounts in a granted folder is a part of it, and no way out', async () => {
        const inside = await new Server([...inMounts, ...command(configuration(root), 'mcp')], {HOME: folder('home')}).begin();
        assert.equal((await inside.call('read_text_file', {path: join(mounted, 'secret.txt')})).content[0].text, secret);
        await refuses(`${mounted}/../../root-outside/secret.txt`, inside);
        await inside.end();
    });
} else {
    skip('what an administrator mounts in a granted folder is a part of it, and no way out', 'nothing can be mounted here');
}

// --------------------------------------------------------------- capabilities

const all = withPath(join(root, 'inside.txt'));
await passes('without a granted folder every tool says what is missing', async () => {
    const bare = await ours({...configuration(root, {}), paths: {}});
    for (const [tool, args] of all.filter(([tool]) => tool !== 'read_multiple_files')) {
        const {isError, content} = await bare.call(tool, args);
        assert.ok(isError && /no directory is granted.*workspace/.test(content[0].text), `${tool}: ${content[0].text}`);
    }
    assert.match((await bare.call('read_graph', {})).content[0].text, /write:\$\{data\}/);
    await bare.end();
});
await passes('with reading alone, what is read is, and what writes is refused', async () => {
    const reader = await ours(configuration(root, {filesystem: ['read']}));
    for (const [tool, args] of all.filter(([tool]) => /^read|^get/.test(tool))) {
        assert.ok(!(await reader.call(tool, args)).isError, tool);
    }
    for (const [tool, args] of [...all.filter(([tool, args]) => /^write|^edit|^move/.test(tool) && args.source !== args.destination), ['create_directory', {path: join(root, 'made')}]]) {
        const {isError, content} = await reader.call(tool, args);
        assert.ok(isError && /[Pp]ermission denied|no way to write/.test(content[0].text), `${tool}: ${content[0].text}`);
    }
    assert.equal(readFileSync(join(root, 'inside.txt'), 'utf8'), 'inside');
    await reader.end();
});
await passes('of a folder that is granted in part, the rest is outside', async () => {
    const part = folder('root', 'part');
    writeFileSync(join(part, 'f'), 'part');
    const config = configuration(root, {filesystem: [`read:${part}`, `write:${folder('root', 'part2')}`]});
    const narrow = await ours(config);
    assert.match((await narrow.call('list_allowed_directories', {})).content[0].text, new RegExp(`^Allowed directories:\n${root}/part2\n${root}/part$`));
    assert.equal((await narrow.call('read_text_file', {path: 'f'})).isError, true); // relative to the first
    assert.equal((await narrow.call('read_text_file', {path: join(part, 'f')})).content[0].text, 'part');
    assert.equal((await narrow.call('read_text_file', {path: join(root, 'inside.txt')})).isError, true);
    assert.ok(!(await narrow.call('write_file', {path: 'n', content: 'x'})).isError);
    assert.equal((await narrow.call('write_file', {path: join(part, 'n'), content: 'x'})).isError, true);
    await narrow.end();
});

// ------------------------------------------------------------------- memory

await passes('several processes write one memory, and none of it is lost when they are killed', async () => {
    const writers = await Promise.all([1, 2, 3].map(() => ours(configuration(root))));
    await Promise.all(writers.flatMap((writer, w) => Array.from({length: 40}, (_, i) =>
        writer.call('create_entities', {entities: [{name: `${w}/${i}`, entityType: 't', observations: [`${i}`]}]})
              .then((result) => assert.ok(!result.isError, JSON.stringify(result))))));
    for (const writer of writers) {
        writer.child.kill('SIGKILL');
        await writer.ended;
    }
    const reader = await ours(configuration(root));
    const {structuredContent: graph} = await reader.call('read_graph', {});
    assert.equal(new Set(graph.entities.map(({name}) => name)).size, 120);
    assert.ok(graph.entities.every(({name, observations}) => observations.length === 1 && name.endsWith(`/${observations[0]}`)));
    await reader.end();
});
finish();
