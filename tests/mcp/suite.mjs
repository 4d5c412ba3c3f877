// suite.mjs REVISION - the official conformance suite of MCP against `toolrack serve` with the
// conformance plugins.
//
// A case is a scenario: it passes if no check fails, warns or is skipped but those that `failures`
// names, and if there are as many checks as `scenarios` says: a fixture that is missing lets the suite
// leave checks out. With MCP_URL another server is tested.
import {spawn} from 'node:child_process';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {finish, note, report, rows, serve, temporaryFolder} from './lib.mjs';

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

const words = (check) => `${check.status} ${check.id}: ${check.errorMessage ?? check.description}`;

// What is wrong with a scenario, in the words of its checks; nothing if it is as expected.
function judge(checks, count, skips, allowed) {
    if (!checks) {
        return 'the suite has no such scenario any more, or did not get that far';
    }
    const skipped = checks.filter((check) => check.status === 'SKIPPED');
    const failing = checks.filter((check) => ['FAILURE', 'WARNING'].includes(check.status));
    failing.push(...(skipped.length === skips ? [] : skipped));
    const counted = checks.filter((check) => ['SUCCESS', 'FAILURE'].includes(check.status));
    const problems = failing.filter((check) => !allowed.includes(check.id)).map(words);
    problems.push(...allowed.filter((id) => !failing.some((check) => check.id === id))
                            .map((id) => `${id} is in the list of failures, but does not fail`));
    if (skipped.length < skips) {
        problems.push(`${skipped.length} checks were skipped, not ${skips}`);
    }
    if (allowed.length === 0 && counted.length !== count) {
        problems.push(`${counted.length} checks ran, not ${count}`);
    }
    return problems.join('\n');
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
