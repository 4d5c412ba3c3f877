// nats-clients.mjs - the official clients of NATS beside ours, on a real nats-server: objects that one puts the other gets, and the
// services that a host is.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {connect} from '@nats-io/transport-node';
import {Objm} from '@nats-io/obj';
import {Svcm} from '@nats-io/services';

const folder = mkdtempSync(join(tmpdir(), 'toolrack-nats.'));
const children = [];
let count = 0;
let failed = 0;

process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

async function passes(what, test) {
    try {
        const late = new Promise((resolve, reject) => setTimeout(reject, 30_000, new Error('it does not end')).unref());
        await Promise.race([test(), late]);
        console.log(`ok ${++count} - ${what}`);
    } catch (error) {
        failed++;
        console.log(`not ok ${++count} - ${what}`);
        console.log(`${error.stack}`.replace(/^/gm, '# '));
    }
}

/** Start nats-server; its address when it is ready. */
function server() {
    const child = spawn('nats-server', ['-a', '127.0.0.1', '-p', '-1', '-js', '-sd', folder], {stdio: ['ignore', 'ignore', 'pipe']});
    children.push(child);
    return new Promise((resolve, reject) => {
        let port;
        child.on('error', reject);
        createInterface({input: child.stderr}).on('line', (line) => {
            port = line.match(/client connections on 127\.0\.0\.1:(\d+)/)?.[1] ?? port;
            if (line.includes('Server is ready')) {
                resolve(`nats://127.0.0.1:${port}`);
            }
        });
    });
}

const url = await server();
const connection = await connect({servers: url});

function ours(bucket, ...words) {
    const {status, stdout, stderr} = spawnSync(process.env.NATS_OBJECT_TOOL, [url, bucket, ...words], {encoding: 'utf8'});
    assert.equal(status, 0, stderr);
    return stdout;
}
function oursFails(bucket, ...words) {
    const {status, stderr} = spawnSync(process.env.NATS_OBJECT_TOOL, [url, bucket, ...words], {encoding: 'utf8'});
    assert.equal(status, 1);
    return stderr;
}
const file = join(folder, 'bytes');
const sizes = [0, 1, 128 * 1024, 300_001];
// The client of JavaScript writes names beyond ASCII otherwise than ADR-20 says.
const names = sizes.map((size) => `a/name of ${size} *.>`);

async function theirs(store, name) {
    const found = await store.get(name);
    const parts = [];
    for await (const part of found.data) {
        parts.push(Buffer.from(part));
    }
    assert.ok(!await found.error);
    return Buffer.concat(parts);
}

await passes('objects that we put they get', async () => {
    ours('ours', 'list');
    const store = await new Objm(connection).open('ours');
    for (const [at, size] of sizes.entries()) {
        const bytes = randomBytes(size);
        writeFileSync(file, bytes);
        ours('ours', 'put', names[at], file);
        const info = await store.info(names[at]);
        assert.equal(info.size, size);
        assert.deepEqual(await theirs(store, names[at]), bytes);
    }
    assert.deepEqual((await store.list()).map((info) => info.name).sort(), [...names].sort());
    ours('ours', 'delete', names[1]);
    assert.equal(await store.get(names[1]), null);
    assert.equal((await store.list()).length, 3);
    writeFileSync(file, 'once more');
    ours('ours', 'put', names[0], file);
    assert.equal((await theirs(store, names[0])).toString(), 'once more');
});

await passes('objects that they put we get', async () => {
    const store = await new Objm(connection).create('theirs', {description: 'of another client'});
    for (const [at, size] of sizes.entries()) {
        const bytes = randomBytes(size);
        await store.putBlob({name: names[at], description: 'd', metadata: {a: 'b'}, options: {max_chunk_size: 10_000}}, bytes);
        ours('theirs', 'get', names[at], file);
        assert.deepEqual(readFileSync(file), bytes);
    }
    assert.equal(ours('theirs', 'list'), sizes.map((size, at) => `${names[at]} ${size} ${Math.ceil(size / 10_000)}\n`).join(''));
    await store.delete(names[0]);
    assert.match(oursFails('theirs', 'get', names[0], file), /there is no object/);
    ours('theirs', 'delete', names[1]);
    assert.equal(await store.get(names[1]), null);
    await store.link('linked', await store.info(names[2]));
    assert.match(oursFails('theirs', 'get', 'linked', file), /link/);
});

/** All answers to a question of a client of services. */
async function all(answers) {
    const found = [];
    for await (const one of await answers) {
        found.push(one);
    }
    return found;
}

await passes('a host is a service as they know them', async () => {
    const host = spawn(process.env.NATS_TOOLRACK, ['serve', '--nats', url, '--group', 'g', '--name', 'h', '--state', join(folder, 'state')],
        {stdio: ['ignore', 'ignore', 'inherit']});
    children.push(host);
    // Other hosts are told when it is there, with its tools.
    const announced = connection.subscribe('toolrack.1.g.announce.*');
    for await (const message of announced) {
        if (message.json().tools > 0) {
            break;
        }
    }
    const client = new Svcm(connection).client({strategy: 'stall', maxWait: 5_000, maxMessages: 100});
    const [ping] = await all(client.ping('toolrack-g'));
    assert.equal(ping.name, 'toolrack-g');
    assert.equal(ping.metadata.host, 'h');
    const [info] = await all(client.info('toolrack-g', ping.id));
    assert.equal(info.id, ping.id);
    assert.match(info.version, /^\d+\.\d+\.\d+/);
    const endpoint = info.endpoints.find(({metadata}) => metadata.tool === 'get_current_time');
    assert.ok(endpoint, info.endpoints.map(({metadata}) => metadata.tool).join());
    const answer = await connection.request(endpoint.subject, '{}', {timeout: 20_000});
    assert.equal(answer.headers?.get('Nats-Service-Error') ?? '', '');
    assert.equal(typeof answer.json(), 'object');
    const wrong = await connection.request(endpoint.subject, '{"nothing": 1}', {timeout: 20_000});
    assert.match(wrong.headers.get('Nats-Service-Error'), /InvalidArguments/);
    assert.equal(wrong.headers.get('Nats-Service-Error-Code'), '400');
    const [stats] = await all(client.stats('toolrack-g'));
    const counted = stats.endpoints.find(({subject}) => subject === endpoint.subject);
    assert.equal(counted.num_requests, 2);
    assert.equal(counted.num_errors, 1);
    assert.ok(counted.processing_time > 0);
    assert.ok(!Number.isNaN(Date.parse(stats.started)));
    host.kill('SIGTERM');
    await new Promise((resolve) => host.on('exit', resolve));
});

console.log(`1..${count}`);
await connection.close();
children.forEach((child) => child.kill('SIGKILL'));
rmSync(folder, {recursive: true, force: true, maxRetries: 5});
process.exit(failed > 0 ? 1 : 0);
