// metrics.mjs - GET /metrics: promtool, which reads what Prometheus reads, finds nothing wrong with it; the numbers are those of
// what was done, and never fall.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {ask, command, finish, passes, prepare, skips, start} from './server.mjs';

const mock = (name, more = {}) => ({name, type: 'function', description: `Gives ${name}`,
    parameters: {type: 'object', properties: {}}, implementation: {type: 'mock', mock_response: {a: 1}}, ...more});
prepare({tools: [mock('low'), mock('off'), mock('asks', {permission: 'confirm'})], serve: {metrics: 'caller'}}, ['says']);
const boss = command('token', 'add', 'boss', '--admin').trim();
command('disable', 'off');
await start();

/** The samples of an answer, by their names with labels as they are written. */
function samples(text) {
    return new Map(text.split('\n').filter((line) => line && !line.startsWith('#')).map((line) => {
        const end = line.lastIndexOf(' ');
        return [line.slice(0, end), Number(line.slice(end + 1))];
    }));
}

const read = async () => samples((await ask('GET', '/metrics')).text);
/** The numbers when they are as they are wanted. */
async function until(is) {
    for (const end = Date.now() + 30_000; ;) {
        const now = await read();
        if (is(now)) {
            return now;
        }
        assert.ok(Date.now() < end, `waited in vain for ${is}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

const call = (name, options = {}) => ask('POST', `/api/tools/${name}/call`, {body: {}, ...options});
const isCounter = (name) => /_(total|bucket|sum|count)(\{|$)/.test(name);

await passes('the numbers are those of what was done', async () => {
    const before = await read();
    assert.equal(before.get('toolrack_tools{state="disabled"}'), 1);
    for (let i = 0; i < 5; i++) {
        assert.equal((await call('low')).status, 200);
    }
    await call('low', {body: '[1'});
    await call('off');
    await call('asks');
    await call('nothing');
    await ask('GET', '/nowhere');
    await ask('GET', '/mcp');
    await ask('GET', '/');
    const now = await read();
    assert.equal(now.get('toolrack_calls_total{tool="low"}'), 6);
    assert.equal(now.get('toolrack_call_errors_total{tool="low",type="InvalidArguments"}'), 1);
    assert.equal(now.get('toolrack_call_errors_total{tool="off",type="Disabled"}'), 1);
    assert.equal(now.get('toolrack_call_errors_total{tool="asks",type="ConfirmationRequired"}'), 1);
    assert.equal(now.get('toolrack_call_duration_seconds_count{tool="low"}'), 6);
    assert.equal(now.get('toolrack_call_duration_seconds_bucket{tool="low",le="+Inf"}'), 6);
    const more = (name) => now.get(name) - (before.get(name) ?? 0);
    assert.equal(more('toolrack_http_requests_total{front="rest",status="200"}'), 6, 'five calls and the metrics before');
    assert.equal(more('toolrack_http_requests_total{front="rest",status="404"}'), 1);
    assert.equal(more('toolrack_http_requests_total{front="other",status="404"}'), 1);
    assert.equal(more('toolrack_http_requests_total{front="mcp",status="405"}'), 1);
    assert.equal(more('toolrack_http_requests_total{front="page",status="200"}'), 1);
    assert.match([...now.keys()][0], /^toolrack_build_info\{version="\d+\.\d+\.\d+"\}$/);
});

await passes('a call that runs is told while it runs', async () => {
    const job = await call('listens', {headers: {prefer: 'respond-async'}});
    assert.equal(job.status, 202, job.text);
    await until((one) => one.get('toolrack_calls_in_flight') === 1 && one.get('toolrack_workers') === 1);
    await ask('DELETE', job.headers.location);
    await until((one) => one.get('toolrack_calls_in_flight') === 0);
    assert.equal((await read()).get('toolrack_call_errors_total{tool="listens",type="Cancelled"}'), 1);
});

await passes('workers crashes and quarantine are told', async () => {
    const before = await read();
    for (let i = 0; i < 3; i++) {
        assert.equal((await call('leaks', {body: {how: 'crash'}})).status, 500);
    }
    // What is counted is what is told, which may be after the answer; the state is known with it.
    assert.equal((await read()).get('toolrack_plugins{state="quarantined"}'), 1);
    const now = await until((one) => one.get('toolrack_plugin_quarantines_total') === 1 && one.get('toolrack_workers') === 0);
    assert.equal(now.get('toolrack_plugins{state="quarantined"}'), 1);
    assert.equal(now.get('toolrack_worker_crashes_total'), 3);
    const restarts = now.get('toolrack_worker_restarts_total') - before.get('toolrack_worker_restarts_total');
    // The worker of the call above may be there still, beside another, or may have been killed.
    assert.ok(restarts >= 1 && restarts <= 3, `${restarts} restarts`);
    assert.equal(now.get('toolrack_call_errors_total{tool="leaks",type="ExecutionFailed"}'), 3);
    assert.equal(now.get('toolrack_workers'), 0);
});

await passes('no number of what has happened falls, and none is lost', async () => {
    let last = await read();
    const begin = last.get('toolrack_calls_total{tool="low"}');
    const calls = Array.from({length: 200}, () => call('low'));
    let done = false;
    Promise.all(calls).finally(() => done = true);
    while (!done) {
        const now = await read();
        assert.ok(now.size > 0);
        for (const [name, value] of last) {
            assert.ok(!isCounter(name) || now.get(name) >= value, `${name}: ${value}, then ${now.get(name)}`);
        }
        last = now;
    }
    assert.equal((await read()).get('toolrack_calls_total{tool="low"}'), begin + 200);
});

await passes('it is text as Prometheus asks for it, and nothing else', async () => {
    const accept = 'application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
    for (const headers of [{}, {accept}, {accept: 'text/plain'}, {accept: 'text/*'}]) {
        const answer = await ask('GET', '/metrics', {headers});
        assert.equal(answer.status, 200);
        assert.equal(answer.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
    }
    assert.equal((await ask('GET', '/metrics', {headers: {accept: 'application/json'}})).status, 406);
});

await passes('who may read it is what the configuration says, and the document says so', async () => {
    const document = (await ask('GET', '/api/openapi.json')).json;
    assert.equal(document.paths['/metrics'].get['x-class'], 'caller');
    assert.equal((await ask('GET', '/metrics', {token: boss})).status, 200);
    assert.equal((await ask('GET', '/metrics', {token: `trk_${'0'.repeat(64)}`})).status, 401);
});

const {text} = await ask('GET', '/metrics');
const judged = spawnSync('promtool', ['check', 'metrics'], {input: text, encoding: 'utf8'});
if (judged.error?.code === 'ENOENT') {
    skips('promtool check metrics', 'promtool is not installed');
} else {
    await passes('promtool check metrics', () => {
        assert.equal(judged.status, 0, judged.stderr + judged.stdout);
        assert.equal(judged.stdout + judged.stderr, '');
    });
}

await finish();
