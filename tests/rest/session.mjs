// session.mjs - sessions of pages: what a browser sends along without being asked is worth nothing by itself, and what
// ends a token ends its sessions.
import assert from 'node:assert/strict';
import http from 'node:http';
import {ask, beside, command, configure, finish, listen, passes, port, prepare, soon, start, stop, words} from './server.mjs';

const mock = (name) => ({name, type: 'function', description: `Gives ${name}`,
    parameters: {type: 'object', properties: {}}, implementation: {type: 'mock', mock_response: {a: 1}}});
prepare({tools: [mock('low')]}, []);
const boss = command('token', 'add', 'boss', '--admin').trim();
const user = command('token', 'add', 'user').trim();
await start();

const refused = (answer, status) => assert.equal(answer.status, status, answer.text);

async function logIn(token = boss, headers = {}) {
    const answer = await ask('POST', '/api/session', {token, body: {}, headers});
    refused(answer, 201);
    const [cookie, ...rest] = answer.headers['set-cookie'][0].split('; ');
    return {cookie, attributes: rest, csrf: answer.json.csrf, json: answer.json};
}

const by = ({cookie, csrf}, more = {}) => ({headers: {cookie, 'x-csrf-token': csrf, ...more}});
const admin = (session, more) => ask('GET', '/api/tokens', by(session, more));
const toggle = (options, enabled = true) => ask('PATCH', '/api/tools/low', {body: {enabled}, ...options});
const sessions = [];

await passes('a token is traded for a cookie that scripts and other sites do not get', async () => {
    const session = await logIn();
    sessions.push(session);
    assert.match(session.cookie, new RegExp(`^toolrack-${port}=[0-9a-f]{64}$`));
    assert.deepEqual(session.attributes, ['Path=/', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict']);
    assert.match(session.csrf, /^[0-9a-f]{64}$/);
    assert.notEqual(session.csrf, session.cookie.split('=')[1]);
    assert.equal(session.json.token, 'boss');
    refused(await admin(session), 200);
    refused(await admin(session, {origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin'}), 200);
    refused(await toggle(by(session)), 200);
    const shown = await ask('GET', '/api/session', by(session));
    assert.equal(shown.json.token, 'boss');
    assert.ok(shown.json.left_s > 43_100 && shown.json.left_s <= 43_200 && !('csrf' in shown.json));
});

await passes('only an administrator\'s token is traded', async () => {
    for (const [token, status] of [[undefined, 401], [user, 403], [`trk_${'0'.repeat(64)}`, 401]]) {
        refused(await ask('POST', '/api/session', {token, body: {}}), status);
    }
    refused(await ask('POST', '/api/session', {peer: true, body: {}}), 400);
    refused(await ask('POST', '/api/session', {body: {}, ...by(sessions[0])}), 400);
    refused(await ask('POST', `/api/session?token=${boss}`, {body: {}}), 401);
    refused(await ask('POST', `/api/session?token=${boss}`, {token: boss, body: {}}), 400);
    refused(await ask('POST', '/api/session', {token: boss, body: {token: boss}}), 400);
});

await passes('a cookie without its X-CSRF-Token, or with another, is refused, for what reads too', async () => {
    const [session, other] = [sessions[0], await logIn()];
    sessions.push(other);
    for (const headers of [{cookie: session.cookie}, {'x-csrf-token': session.csrf}, {cookie: session.cookie, 'x-csrf-token': ''},
                           {cookie: session.cookie, 'x-csrf-token': session.cookie.split('=')[1]},
                           {cookie: session.cookie, 'x-csrf-token': other.csrf}, {cookie: session.cookie, 'x-csrf-token': '0'.repeat(64)},
                           {cookie: `toolrack-${port}=${'0'.repeat(64)}`, 'x-csrf-token': session.csrf},
                           {cookie: `${session.cookie}0`, 'x-csrf-token': session.csrf},
                           {cookie: `x${session.cookie}`, 'x-csrf-token': session.csrf}]) {
        refused(await ask('GET', '/api/tokens', {headers}), 401);
        refused(await toggle({headers}, false), 401);
    }
    assert.match((await ask('GET', '/api/tokens', {headers: {cookie: session.cookie}})).json.detail, /X-CSRF-Token/);
    assert.equal((await ask('GET', '/api/tools/low')).json.enabled, true);
    refused(await ask('GET', '/api/tools', {headers: {cookie: session.cookie}}), 200); // as without a cookie
});

await passes('a form of another site, and its scripts, change nothing', async () => {
    const [session] = sessions;
    const form = {'content-type': 'application/x-www-form-urlencoded'};
    refused(await toggle({...by(session, {origin: 'https://evil.example', ...form})}, false), 403);
    refused(await ask('POST', '/api/tools/low/call', {body: 'a=1', headers: {cookie: session.cookie, ...form}}), 415);
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1', `http://localhost:${port}`, `https://127.0.0.1:1`]) {
        refused(await toggle(by(session, {origin}), false), 403);
    }
    for (const site of ['cross-site', 'same-site', 'none', 'x']) {
        refused(await toggle(by(session, {'sec-fetch-site': site}), false), 403);
    }
    const asked = await ask('OPTIONS', '/api/tools/low', {headers: {origin: 'http://127.0.0.1:1',
        'access-control-request-method': 'PATCH', 'access-control-request-headers': 'x-csrf-token'}});
    assert.deepEqual(Object.keys(asked.headers).filter((name) => name.startsWith('access-control')), []);
    assert.equal((await ask('GET', '/api/tools/low')).json.enabled, true);
});

await passes('a name that points here reaches nothing with a session', async () => {
    refused(await toggle(by(sessions[0], {host: 'evil.example'}), false), 403);
    refused(await toggle(by(sessions[0], {host: `evil.example:${port}`, origin: `http://evil.example:${port}`}), false), 403);
    // Its cookie is of the name that the browser asked for.
    refused(await admin(sessions[0], {host: `localhost:${port}`}), 200);
});

await passes('no session begins at the name localhost, and the page there leads to the address', async () => {
    const at = (method, path, host, more = {}) => ask(method, path, {...more, headers: {host, ...more.headers}});
    for (const host of [`localhost:${port}`, `LOCALHOST.:${port}`]) {
        const refusal = await at('POST', '/api/session', host, {token: boss, body: {}});
        refused(refusal, 403);
        assert.ok(refusal.json.detail.includes(`http://127.0.0.1:${port}/`), refusal.text);
        assert.equal(refusal.headers['set-cookie'], undefined);
        for (const [method, path] of [['GET', '/'], ['HEAD', '/'], ['GET', '/?a=b'], ['GET', '/web/main.js']]) {
            const moved = await at(method, path, host);
            refused(moved, 307);
            assert.equal(moved.headers.location, `http://127.0.0.1:${port}/`);
        }
        refused(await at('GET', '/api/tools', host), 200);
    }
    assert.equal((await at('GET', '/', 'localhost')).headers.location, 'http://127.0.0.1/');
    refused(await at('GET', '/', `127.0.0.1:${port}`), 200);
    refused(await ask('GET', '/', {peer: true, headers: {host: 'localhost'}}), 200);
});

await passes('a client does not choose its session: what it had before the login is worth nothing after it', async () => {
    const chosen = `toolrack-${port}=${'a'.repeat(64)}`;
    const session = await logIn(boss, {cookie: chosen, 'x-csrf-token': 'b'.repeat(64)});
    assert.notEqual(session.cookie, chosen);
    refused(await admin({cookie: chosen, csrf: session.csrf}), 401);
    refused(await admin({cookie: chosen, csrf: 'b'.repeat(64)}), 401);
    sessions.push(session);
});

await passes('cookies of the same name that somebody else set neither log in nor out', async () => {
    const [session, other] = sessions;
    const wrong = `toolrack-${port}=${'c'.repeat(64)}`;
    for (const before of [wrong, other.cookie, 'a=b', '=', ';', `toolrack-${port}=`, `toolrack-${port}`]) {
        refused(await admin({...session, cookie: `${before}; ${session.cookie}`}), 200);
        refused(await admin({...session, cookie: `${session.cookie};${before}`}), 200);
        refused(await admin({...session, cookie: before}), 401);
    }
    refused(await admin({...session, cookie: `${`${wrong}; `.repeat(7)}${session.cookie}`}), 200);
    refused(await admin({...session, cookie: `${`${wrong}; `.repeat(8)}${session.cookie}`}), 401);
});

await passes('a Cookie header may be long, and one that is too long is refused', async () => {
    const [session] = sessions;
    refused(await admin({...session, cookie: `${'a=b; '.repeat(100)}${session.cookie}`}), 200);
    for (const length of [20_000, 100_000]) {
        // libmicrohttpd answers by itself, or just closes the connection, before it has read what is longer than its memory.
        const answer = await admin({...session, cookie: `${session.cookie}; x=${'y'.repeat(length)}`}).catch(() => ({status: 431}));
        assert.ok([431, 413].includes(answer.status), `${length}: ${answer.status}`);
    }
    refused(await admin(session), 200);
});

await passes('a session that was ended is unknown, and so ends its event stream', async () => {
    const session = sessions.pop();
    const stream = listen('GET', '/api/events', by(session));
    await stream.next();
    const ended = await ask('DELETE', '/api/session', by(session));
    refused(ended, 200);
    assert.match(ended.headers['set-cookie'][0], new RegExp(`^toolrack-${port}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict$`));
    refused(await admin(session), 401);
    assert.equal(await stream.next(), null);
    refused(await ask('DELETE', '/api/session', {token: boss}), 404);
    refused(await admin(sessions[0]), 200);
});

await passes('one session of a token too many ends the one that was used least recently', async () => {
    const own = command('token', 'add', 'own', '--admin').trim();
    const all = [];
    for (let i = 0; i < 8; i++) {
        all.push(await logIn(own));
    }
    refused(await admin(all[0]), 200);
    const one = await logIn(own);
    refused(await admin(one), 200);
    refused(await admin(all[0]), 200);
    refused(await admin(all[1]), 401);
    refused(await admin(sessions[0]), 200);
});

await passes('sessions end with their token, whoever revokes it', async () => {
    const [session] = sessions;
    const stream = listen('GET', '/api/events', by(session));
    await stream.next();
    command('token', 'revoke', 'boss');
    refused(await admin(session), 401);
    refused(await toggle(by(session)), 401);
    assert.equal(await stream.next(), null);
    command('token', 'add', 'boss', '--admin'); // the same name is another token
    refused(await admin(session), 401);
});

await passes('a host that the configuration names keeps its page, and ::1 is an address too', async () => {
    let told;
    const tells = new Promise((resolve) => { told = (line) => { const found = /http:\/\/\[::1\]:(\d+)/.exec(line); found && resolve(Number(found[1])); }; });
    const six = beside(process.env.REST_TOOLRACK, words('serve', '--no-daemon', '--listen', '[::1]:0'), told);
    const sixth = await soon(tells, 'the address');
    const moved = await soon(new Promise((resolve, reject) => http.get({host: '::1', port: sixth, path: '/', agent: false, headers: {host: `localhost:${sixth}`}},
        (response) => { response.resume(); resolve(response); }).on('error', reject)), 'the page at ::1');
    assert.equal(moved.statusCode, 307);
    assert.equal(moved.headers.location, `http://[::1]:${sixth}/`);
    await six.stop();
    await stop();
    configure({tools: [mock('low')], serve: {hosts: ['localhost']}});
    await start();
    const again = command('token', 'add', 'again', '--admin').trim();
    refused(await ask('GET', '/', {headers: {host: `localhost:${port}`}}), 200);
    await logIn(again, {host: `localhost:${port}`});
});

await passes('who tries to log in too often waits, and nobody else', async () => {
    let answer;
    for (let i = 0; i < 40 && answer?.status !== 429; i++) {
        answer = await ask('POST', '/api/session', {token: `trk_${String(i).padStart(64, '0')}`, body: {}});
        assert.ok([401, 429].includes(answer.status), answer.text);
    }
    refused(answer, 429);
    assert.ok(Number(answer.headers['retry-after']) >= 1);
    refused(await ask('GET', '/api/tokens', {peer: true}), 200);
    refused(await ask('GET', '/api/tools'), 200);
});

await finish();
