// suite-client.mjs - the official conformance suite of MCP against toolrack as a client, which mounts
// the servers of the suite (suite-client-peer.mjs).
//
// As in suite.mjs a case is a scenario, and `scenarios` and `failures` have its rows, those that begin with
// "client". The rest of the suite wants what is not there: a person and a browser (the other scenarios of
// auth/), and extensions.
import {spawn} from 'node:child_process';
import {existsSync, readFileSync, readdirSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {finish, judge, note, report, rows, temporaryFolder} from './lib.mjs';

const suite = new URL('../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url);
const peer = new URL('suite-client-peer.mjs', import.meta.url);
const folder = temporaryFolder();

function run(scenario) {
    const command = `${process.execPath} --no-warnings ${peer.pathname}`;
    const child = spawn(process.execPath, ['--no-warnings', suite.pathname, 'client', '--command', command,
                                           '--scenario', scenario, '-o', folder],
                        {stdio: ['ignore', 'pipe', 'pipe']});
    let output = '';
    child.stdout.on('data', (data) => { output += data; });
    child.stderr.on('data', (data) => { output += data; });
    return new Promise((resolve) => child.once('close', () => resolve(output)));
}

// The checks of a scenario, each once: one that is made for each request counts as its worst.
function checksOf(scenario) {
    const place = dirname(join(folder, scenario));
    const begin = `${scenario.split('/').pop()}-20`;
    const name = existsSync(place) ? readdirSync(place).find((one) => one.startsWith(begin)) : undefined;
    if (!name) {
        return undefined;
    }
    const ranks = ['INFO', 'SUCCESS', 'SKIPPED', 'WARNING', 'FAILURE'];
    const worst = new Map();
    for (const check of JSON.parse(readFileSync(join(place, name, 'checks.json'), 'utf8'))) {
        const known = worst.get(check.id);
        if (!known || ranks.indexOf(check.status) > ranks.indexOf(known.status)) {
            worst.set(check.id, check);
        }
    }
    return [...worst.values()];
}

const failures = rows('failures', 'client');
const wanted = rows('scenarios', 'client');
const outputs = new Map();
const left = wanted.map(([scenario]) => scenario);
await Promise.all([1, 2, 3].map(async () => {
    for (let scenario = left.shift(); scenario; scenario = left.shift()) {
        outputs.set(scenario, await run(scenario));
    }
}));
for (const [scenario, count, skips = 0] of wanted) {
    const allowed = failures.filter((row) => row[0] === scenario).map((row) => row[1]);
    const problem = judge(checksOf(scenario), Number(count), Number(skips), allowed);
    report(scenario, problem);
    if (problem) {
        note(outputs.get(scenario));
    }
}
await finish();
