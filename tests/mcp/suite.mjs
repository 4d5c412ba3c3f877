// suite.mjs REVISION - the official conformance suite of MCP against `toolrack serve` with the
// conformance plugins.
//
// A case is a scenario: it passes if no check fails, warns or is skipped but those that `failures`
// names, and if there are as many checks as `scenarios` says: a fixture that is missing lets the suite
// leave checks out. With MCP_URL another server is tested.
import {spawn} from 'node:child_process';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {finish, judge, note, report, rows, serve, temporaryFolder} from './lib.mjs';

const revision = process.argv[2];
const suite = new URL('../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url);

function run(url, folder) {
    const child = spawn(process.execPath,
                        [suite.pathname, 'server', '--url', url, '--requirements', revision, '-o', folder],
                        {stdio: ['ignore', 'pipe', 'pipe']});
    let output = '';
    child.stdout.on('data', (data) => { output += data; });
    child.stderr.on('data', (data) => { output += data; });
    return new Promise((resolve) => child.once('exit', () => resolve(output)));
}

// The folders are called server-SCENARIO-TIME.
function results(folder) {
    const found = new Map();
    for (const name of readdirSync(folder)) {
        const scenario = /^server-(.*)-\d{4}-\d\d-\d\dT[\dZ-]+$/.exec(name)[1];
        found.set(scenario, JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')));
    }
    return found;
}

const folder = temporaryFolder();
const plugins = process.env.MCP_CONFORMANCE.split(':');
// Calls become tasks early, so that no scenario waits long for one.
const server = process.env.MCP_URL ? {url: process.env.MCP_URL}
                                   : await serve({plugins, config: {serve: {tasks: {after_ms: 250}}}});
const output = await run(server.url, join(folder, 'out'));
const found = existsSync(join(folder, 'out')) ? results(join(folder, 'out')) : new Map();
const failures = rows('failures', revision);
for (const [scenario, count, skips = 0] of rows('scenarios', revision)) {
    const allowed = failures.filter((row) => row[0] === scenario).map((row) => row[1]);
    report(scenario, judge(found.get(scenario), Number(count), Number(skips), allowed));
    found.delete(scenario);
}
report('no other scenarios', [...found.keys()].join('\n'));
if (found.size === 0 && !/^=== SUMMARY ===$/m.test(output)) {
    note(output);
}
if (server.child) {
    report('the server ends at SIGTERM', await server.stop() === 0 ? '' : server.child.errors);
}
await finish();
