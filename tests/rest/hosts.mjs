// hosts.mjs - GET /api/hosts: the rows of `toolrack hosts --json`, for two hosts that a nats-server joins.
import assert from 'node:assert/strict';
import {execFileSync, spawn} from 'node:child_process';
import {ask, beside, command, finish, passes, prepare, soon, start} from './server.mjs';

let listening;
const server = new Promise((resolve) => { listening = resolve; });
beside('nats-server', ['-a', '127.0.0.1', '-p', '-1'], () => {}, (line) => {
    const port = /client connections on 127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port !== undefined) {
        listening(`nats://127.0.0.1:${port}`);
    }
});
const url = await soon(server, 'the line that tells the address of nats-server');
prepare({nats: {url, name: 'front'}}, []);
const boss = command('token', 'add', 'boss', '--admin').trim();
const user = command('token', 'add', 'user').trim();
await start();

await passes('the hosts of the group, this one first, as the command shows them', async () => {
    const other = spawn(process.env.REST_TOOLRACK, ['serve', '--config=', '--state=', '--listen', '127.0.0.1:0', '--nats', url, '--name', 'other'],
        {stdio: ['ignore', 'pipe', 'inherit']});
    try {
        await soon(new Promise((resolve) => other.stdout.once('data', resolve)), 'the address of the other host');
        let hosts;
        await soon((async () => {
            do {
                hosts = (await ask('GET', '/api/hosts', {token: boss})).json.hosts;
            } while (hosts.length < 2 || hosts[1].latency_us === null);
        })(), 'the other host');
        assert.deepEqual(hosts.map(({name, self, state}) => ({name, self, state})),
            [{name: 'front', self: true, state: 'here'}, {name: 'other', self: false, state: 'here'}]);
        const shown = JSON.parse(execFileSync(process.env.REST_TOOLRACK, ['hosts', '--config=', '--state=', '--nats', url, '--json'], {encoding: 'utf8'}));
        const row = (Array.isArray(shown) ? shown : shown.hosts).find(({name}) => name === 'other');
        assert.deepEqual(Object.keys(row).sort(), Object.keys(hosts[1]).sort());
        assert.equal(row.instance, hosts[1].instance);
        assert.equal(row.key, hosts[1].key);
    } finally {
        other.kill('SIGKILL');
    }
});

await passes('they are for administrators', async () => {
    assert.equal((await ask('GET', '/api/hosts', {token: user})).status, 403);
});

await finish();
