// reference.mjs - each tool of the plugins filesystem, memory and sequential_thinking beside the same of MCP's reference
// servers, over stdio: round trips a second (one call at a time, and 16 in flight), the start, and memory.
//
// Both are measured by turns in one run, three rounds of each, of which the best counts; the table has the ratios.
import {existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

process.chdir(dirname(fileURLToPath(import.meta.url)));
if (!existsSync('node_modules/@modelcontextprotocol/server-filesystem')) {
    console.log('the reference servers are not installed\tskipped\t');
    process.exit(0);
}
const {configuration, folder, ours, reference} = await import('./servers.mjs');

const rounds = 3;
const roundMs = 150;
const inFlight = 16;

function fill(root) {
    writeFileSync(join(root, 'a.txt'), 'some words on a line\n'.repeat(50));
    writeFileSync(join(root, 'big.txt'), 'some words on a line\n'.repeat(50_000));
    writeFileSync(join(root, 'a.png'), Buffer.alloc(10_000, 7));
    for (let i = 0; i < 10; i++) {
        mkdirSync(join(root, `d${i}`), {recursive: true});
        for (let j = 0; j < 20; j++) {
            writeFileSync(join(root, `d${i}`, `f${j}.${j % 2 ? 'js' : 'txt'}`), 'x'.repeat(100 * j));
        }
    }
}

const roots = [folder('their'), folder('ours_')];
roots.forEach(fill);

let number = 0;
let ids = 0;
const moved = [0, 0];
// Name, server, tool and arguments of one call; a number makes each call another where that matters.
const rows = [
    ['read_text_file, 1 KB', 'filesystem', 'read_text_file', (root) => ({path: join(root, 'a.txt')})],
    ['read_file, 1 KB', 'filesystem', 'read_file', (root) => ({path: join(root, 'a.txt')})],
    ['read_text_file, 1 MB', 'filesystem', 'read_text_file', (root) => ({path: join(root, 'big.txt')})],
    ['read_text_file, head 10 of 1 MB', 'filesystem', 'read_text_file', (root) => ({path: join(root, 'big.txt'), head: 10})],
    ['read_text_file, tail 10 of 1 MB', 'filesystem', 'read_text_file', (root) => ({path: join(root, 'big.txt'), tail: 10})],
    ['read_media_file, 10 KB', 'filesystem', 'read_media_file', (root) => ({path: join(root, 'a.png')})],
    ['read_multiple_files, 10', 'filesystem', 'read_multiple_files', (root) => ({paths: Array.from({length: 10}, (_, i) => join(root, `d${i}/f3.js`))})],
    ['write_file, 1 KB', 'filesystem', 'write_file', (root) => ({path: join(root, 'w.txt'), content: 'x'.repeat(1000)}), 'alone'],
    ['edit_file', 'filesystem', 'edit_file', (root) => ({path: join(root, 'a.txt'), dryRun: true, edits: [{oldText: 'some words', newText: 'few words'}]})],
    ['create_directory', 'filesystem', 'create_directory', (root) => ({path: join(root, `new/${number++ % 20}`)})],
    ['list_directory, 20 files', 'filesystem', 'list_directory', (root) => ({path: join(root, 'd1')})],
    ['list_directory_with_sizes, 20 files', 'filesystem', 'list_directory_with_sizes', (root) => ({path: join(root, 'd1')})],
    ['directory_tree, 200 files', 'filesystem', 'directory_tree', (root) => ({path: root, excludePatterns: ['new', 'm*']})],
    ['move_file', 'filesystem', 'move_file', (root, side) => {
        const [source, destination] = [`m${moved[side]}`, `m${moved[side] ^= 1}`].map((file) => join(root, file));
        return {source, destination};
    }, 'alone'],
    ['search_files, 200 files', 'filesystem', 'search_files', (root) => ({path: root, pattern: '**/*.js', excludePatterns: ['new/**']})],
    ['get_file_info', 'filesystem', 'get_file_info', (root) => ({path: join(root, 'a.txt')})],
    ['list_allowed_directories', 'filesystem', 'list_allowed_directories', () => ({})],
    ['create_entities, there already', 'memory', 'create_entities', () => ({entities: [{name: `n${number++ % 500}`, entityType: 't', observations: ['a']}]}), 'alone'],
    ['create_relations', 'memory', 'create_relations', () => ({relations: [{from: `n${number++ % 500}`, to: 'n1', relationType: 'r'}]}), 'alone'],
    ['add_observations', 'memory', 'add_observations', () => ({observations: [{entityName: 'n1', contents: [`o${number++ % 50}`]}]}), 'alone'],
    ['search_nodes', 'memory', 'search_nodes', () => ({query: 'n12'})],
    ['open_nodes', 'memory', 'open_nodes', () => ({names: ['n1', 'n2']})],
    ['read_graph', 'memory', 'read_graph', () => ({})],
    ['delete_observations', 'memory', 'delete_observations', () => ({deletions: [{entityName: 'n1', observations: [`o${number++ % 50}`]}]}), 'alone'],
    ['delete_relations', 'memory', 'delete_relations', () => ({relations: [{from: `n${number++ % 500}`, to: 'n1', relationType: 'r'}]}), 'alone'],
    ['delete_entities', 'memory', 'delete_entities', () => ({entityNames: [`x${number++}`]}), 'alone'],
    ['sequentialthinking', 'sequential-thinking', 'sequentialthinking', () => ({thought: 'x', nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 2})],
];

// The requests are made before, and answers are only counted: the client is not what is measured.
function measure(server, tool, make, atOnce) {
    const requests = Array.from({length: 500}, () =>
        `,"method":"tools/call","params":${JSON.stringify({name: tool, arguments: make()})}}\n`);
    const {stdin, stdout} = server.child;
    return new Promise((resolve, reject) => {
        const begin = performance.now();
        let sent = 0;
        let answered = 0;
        let isOver = false;
        const send = (count) => stdin.write(Array.from({length: count}, () => `{"jsonrpc":"2.0","id":"bench-${++ids}"${requests[sent++ % requests.length]}`).join(''));
        const take = (data) => {
            if (data.includes('"isError":true') || data.includes('"error":')) {
                reject(new Error(`${tool}: ${data}`.slice(0, 1000)));
            }
            let count = 0;
            for (let at = data.indexOf(10); at >= 0; at = data.indexOf(10, at + 1)) {
                count++;
            }
            answered += count;
            isOver ||= performance.now() - begin > roundMs;
            if (isOver && answered >= sent) { // a log line may have been counted too
                server.raw = undefined;
                resolve(answered / (performance.now() - begin) * 1000);
            } else if (!isOver && count > 0) {
                send(count);
            }
        };
        server.raw = take;
        send(atOnce);
    });
}

// Of a process and those that it started, in MB.
function memory(pid) {
    const own = Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
        readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean));
    return children.reduce((sum, child) => sum + memory(child), own);
}

const print = (name, theirs, mine, unit, ratio) =>
    console.log(`${name.padEnd(38)}\t${theirs.toFixed(unit ? 1 : 0).padStart(9)}\t${mine.toFixed(unit ? 1 : 0).padStart(9)}\t${ratio.toFixed(1).padStart(6)} x\t${unit ?? 'calls/s'}`);

const start = {
    filesystem: [() => reference('server-filesystem', [roots[0]]), () => ours(configuration(roots[1]))],
    memory: [() => reference('server-memory', [], {MEMORY_FILE_PATH: join(folder('graph'), `${number++}.jsonl`)}), () => ours(configuration(roots[1]))],
    'sequential-thinking': [() => reference('server-sequential-thinking'), () => ours(configuration(roots[1]))],
};

console.log(`${''.padEnd(38)}\treference\t     ours\t  ratio`);
for (const [name, sides] of Object.entries(start)) {
    // From the command to the first answer of a tool.
    const [, , tool, make] = rows.find(([, server, , , alone]) => server === name && !alone);
    const times = [[], []];
    for (let i = 0; i < 5; i++) {
        for (const side of [0, 1]) {
            const begin = performance.now();
            const server = await sides[side]();
            await server.call(tool, make(roots[side], side));
            times[side].push(performance.now() - begin);
            await server.end();
        }
    }
    const [theirs, mine] = times.map((list) => list.sort((a, b) => a - b)[2]);
    print(`${name}: start to the first result`, theirs, mine, 'ms', theirs / mine);

    const servers = await Promise.all(sides.map((one) => one()));
    for (const server of name === 'memory' ? servers : []) {
        await server.call('create_entities', {entities: Array.from({length: 500}, (_, i) => ({name: `n${i}`, entityType: 't', observations: ['a']}))});
    }
    for (const [row, server, tool, make, alone] of rows) {
        for (const atOnce of server === name ? (alone ? [1] : [1, inFlight]) : []) {
            const best = [0, 0];
            for (let i = 0; i < rounds; i++) {
                for (const side of [0, 1]) {
                    rmSync(join(roots[side], 'm1'), {force: true}); // move_file begins with m0
                    writeFileSync(join(roots[side], 'm0'), 'x');
                    moved[side] = 0;
                    best[side] = Math.max(best[side], await measure(servers[side], tool, () => make(roots[side], side), atOnce));
                }
            }
            print(atOnce > 1 ? `  ${inFlight} in flight` : row, ...best, undefined, best[1] / best[0]);
        }
    }
    const [much, little] = servers.map((server) => memory(server.child.pid));
    print(`${name}: memory`, much, little, 'MB', much / little);
    await Promise.all(servers.map((server) => server.end()));
}
