// page.mjs - the page in Chromium: what a person does there, what happens meanwhile, and what hostile texts do not do.
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import net from 'node:net';
import {createRequire} from 'node:module';
import {chromium} from 'playwright-core';
import {ask, command, finish, passes, port, prepare, soon, start, stop} from './server.mjs';

const program = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync);
if (!program) {
    console.log('1..0 # SKIP there is no Chromium (Debian packages chromium-headless-shell, chromium)');
    process.exit(0);
}

const hostile = '<img src=x onerror="window.hit=1"> <script>window.hit=1</script> [x](javascript:hit) https://evil.example/ \u202etxt.exe';
const mock = (name, more = {}) => ({name, type: 'function', description: `Gives ${name}`,
    parameters: {type: 'object', properties: {}}, implementation: {type: 'mock', mock_response: {a: 1}}, ...more});
const shapes = {type: 'object', required: ['name', 'size'], additionalProperties: false, properties: {
    name: {type: 'string', minLength: 2, maxLength: 20, pattern: '^[a-z]+$', description: 'Its name'}, size: {enum: ['small', 'large', 3]},
    count: {type: 'integer', minimum: 1, maximum: 9, default: 2}, ratio: {type: 'number', exclusiveMinimum: 0, multipleOf: 0.5},
    flag: {type: 'boolean'}, day: {type: ['string', 'null'], format: 'date'}, kind: {const: 'k'},
    marks: {type: 'array', items: {type: 'string'}, maxItems: 3, uniqueItems: true}, point: {$ref: '#/$defs/point'},
    either: {oneOf: [{type: 'string', title: 'Word'}, {type: 'object', title: 'Pair', properties: {left: {type: 'integer'}}, required: ['left']}]}, any: {}},
$defs: {point: {type: 'object', required: ['x'], properties: {x: {type: 'number'}, y: {type: 'number'}}}}};
prepare({tools: [mock('first', {priority: 100}), mock('second', {priority: 90}), mock('third', {priority: 80}), mock('shaped', {parameters: shapes}),
    mock('mailbox', {priority: 30, description: 'Lists the mail of a folder'}), mock('letter', {priority: 20, description: 'Sends an email to somebody'}),
    mock('stamp', {priority: 10, description: 'What a stamp for mail costs'}),
    mock('asks', {permission: 'confirm', parameters: {type: 'object', properties: {what: {type: 'string'}}}}),
    mock('hostile', {description: hostile, tags: [hostile], parameters: {type: 'object', properties: {[hostile]: {type: 'string', description: hostile}, __proto__x: {type: 'string'}}},
        implementation: {type: 'mock', mock_response: {text: hostile}}})]}, ['says']);
const boss = command('token', 'add', 'boss', '--admin').trim();
const user = command('token', 'add', 'user').trim();
await start();

// What stands between the page and the server, and can be taken away.
const sockets = new Set();
const between = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1');
    for (const [one, other] of [[near, far], [far, near]]) {
        sockets.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => { sockets.delete(one); other.destroy(); });
        one.pipe(other);
    }
});
const listenAt = (where) => new Promise((resolve) => between.listen(where, '127.0.0.1', resolve));
await listenAt(0);
const {port: door} = between.address();
const lose = () => new Promise((resolve) => { between.close(resolve); sockets.forEach((one) => one.destroy()); });
const site = `http://127.0.0.1:${door}`;

const browser = await chromium.launch({executablePath: program, args: process.getuid() === 0 ? ['--no-sandbox'] : []});
const context = await browser.newContext({viewport: {width: 1280, height: 860}, reducedMotion: 'reduce'});
context.setDefaultTimeout(20_000);
const page = await context.newPage();
const troubles = [];
page.on('console', (line) => line.type() === 'error' && !/Failed to load resource/.test(line.text()) && troubles.push(line.text()));
page.on('pageerror', (error) => troubles.push(error.stack));
page.on('dialog', (dialog) => { troubles.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
page.on('request', (request) => request.url().startsWith(`${site}/`) || troubles.push(`request to ${request.url()}`));

const row = (name) => page.locator('.tool', {has: page.locator('.name', {hasText: new RegExp(`^${name}$`)})});
const shows = (locator, what) => locator.filter({hasText: what}).first().waitFor();
const goTo = (hash) => page.evaluate((to) => { location.hash = to; }, hash);
const tool = async (name) => (await ask('GET', `/api/tools/${name}`)).json;
const until = (test, ...rest) => page.waitForFunction(test, ...rest);
const names = () => page.locator('.tool .name').allTextContents();
const call = (name, body = {}, token = user) => ask('POST', `/api/tools/${name}/call`, {body, token});

async function logIn(token = boss) {
    await page.getByLabel('Token of an administrator').fill(token);
    await page.getByRole('button', {name: 'Log in'}).click();
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const axeText = await import('node:fs').then(({readFileSync}) => readFileSync(axe, 'utf8'));

/** No violation of what axe-core knows, light and dark, in what is shown now. */
async function isAccessible(what) {
    for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({colorScheme, reducedMotion: 'reduce'});
        if (!await page.evaluate(() => 'axe' in globalThis)) {
            await page.evaluate(axeText);
        }
        const {violations} = await page.evaluate(() => globalThis.axe.run({resultTypes: ['violations']}));
        assert.deepEqual(violations.map(({id, nodes}) => `${what}, ${colorScheme}: ${id} ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`), []);
    }
    await page.emulateMedia({colorScheme: 'light', reducedMotion: 'reduce'});
}

await passes('the page is the server\'s own, runs no foreign script, and is not kept when it changes', async () => {
    const answer = await ask('GET', '/');
    assert.equal(answer.status, 200);
    const policy = answer.headers['content-security-policy'];
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) {
        assert.ok(policy.includes(part), policy);
    }
    assert.ok(!policy.includes('unsafe'));
    assert.equal(answer.headers['cache-control'], 'no-cache');
    assert.equal((await ask('GET', '/', {headers: {'if-none-match': answer.headers.etag}})).status, 304);
    assert.equal((await ask('HEAD', '/')).text, '');
    assert.equal((await ask('POST', '/', {body: {}})).status, 405);
    assert.equal((await ask('GET', '/', {headers: {host: 'evil.example'}})).status, 403);
    assert.equal((await ask('GET', '/web/nothing')).status, 404);
    assert.ok(!/ on\w+=|style=|<script(?![^>]*src)/.test(answer.text), 'something is inline');
});

await passes('a tool that is moved is where it was moved to, and no other changes its place', async () => {
    const {reorder} = await import(`${process.env.REST_WEB}/tools.js`);
    const inOrder = (tools) => tools.toSorted((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1));
    let seed = 7;
    const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
    for (let round = 0; round < 2000; round++) {
        const spread = [1, 3, 20, 1000][round % 4];
        const tools = inOrder(Array.from({length: 2 + random(12)}, (_, i) => ({name: `t${i}`, priority: random(spread)})));
        const [from, to] = [random(tools.length), random(tools.length)];
        const wanted = tools.map((tool) => tool.name);
        wanted.splice(to, 0, ...wanted.splice(from, 1));
        for (const [tool, priority] of from === to ? [] : reorder(tools, from, to)) {
            tool.priority = priority;
        }
        assert.deepEqual(inOrder(tools).map((tool) => tool.name), wanted, `round ${round}`);
    }
});

await passes('percentiles of calls are those of their intervals', async () => {
    const {intervals} = await import(`${process.env.REST_WEB}/chart.js`);
    const calls = Array.from({length: 100}, (_, i) => ({time_ms: 1000, duration_ns: 100 - i, ok: i % 4 > 0}));
    const all = intervals([...calls, {time_ms: 48_999, duration_ns: 7, ok: true}, {time_ms: 48_000, duration_ns: 9, ok: true}], 1000, 49_000);
    assert.equal(all.length, 48);
    assert.deepEqual([all[0].calls, all[0].errors, all[0].p50, all[0].p95, all[0].p99], [100, 25, 50, 95, 99]);
    assert.deepEqual([all[47].calls, all[47].p50, all[47].p99, all[1].calls, all[1].p50], [2, 7, 9, 0, undefined]);
});

await passes('it is seen, and when is measured', async () => {
    let best = Infinity;
    for (let i = 0; i < 4; i++) {
        await page.goto(site);
        await page.getByLabel('Token of an administrator').waitFor();
        best = Math.min(best, await page.evaluate(() => new Promise((resolve) => {
            new PerformanceObserver((list) => resolve(list.getEntriesByName('first-contentful-paint')[0].startTime)).observe({type: 'paint', buffered: true});
        })));
    }
    assert.ok(best > 0 && best < Infinity, `${best} ms`);
    console.log(`# first paint after ${Math.round(best)} ms; the goal is 200`);
});

/** How far what is shown has moved since the page was loaded, but for what a person did. */
const moved = () => page.evaluate(() => new Promise((resolve) => {
    let sum = 0;
    new PerformanceObserver((list) => { sum += list.getEntries().reduce((all, one) => all + (one.hadRecentInput ? 0 : one.value), 0); })
        .observe({type: 'layout-shift', buffered: true});
    requestAnimationFrame(() => setTimeout(() => resolve(sum)));
}));

await passes('who has no token of an administrator is told so', async () => {
    await isAccessible('login');
    await logIn(`trk_${'0'.repeat(64)}`);
    await shows(page.getByRole('alert'), 'unknown');
    await logIn(user);
    await shows(page.getByRole('alert'), 'no administrator');
    await logIn();
    await row('first').waitFor();
    assert.equal(page.url(), `${site}/`);
    assert.deepEqual(await page.evaluate(() => [document.cookie, Object.keys(localStorage)]), ['', ['toolrack.csrf']]);
    await isAccessible('tools');
});

await passes('nothing moves while it is loaded', async () => {
    assert.equal((await call('asks', {what: 'moves'})).status, 409);
    await page.reload();
    await row('first').waitFor();
    await shows(page.locator('#waiting'), '1');
    const sum = await moved();
    assert.ok(sum < 0.0001, String(sum));
    const {approvals: [{id}]} = (await ask('GET', '/api/approvals', {token: boss})).json;
    await ask('POST', `/api/approvals/${id}`, {body: {answer: 'deny'}, token: boss});
});

await passes('a tool is switched here, and what the command switches is seen here', async () => {
    await row('first').getByRole('switch').uncheck();
    await shows(row('first'), 'disabled');
    assert.equal((await tool('first')).enabled, false);
    command('enable', 'first');
    await until(() => document.querySelector('.tool .switch').checked);
});

await passes('priorities are set by number, by arrow keys and by dragging', async () => {
    await row('third').getByLabel('Priority').fill('95');
    await page.keyboard.press('Enter');
    await until(() => [...document.querySelectorAll('.tool .name')].slice(0, 3).map((one) => one.textContent).join() === 'first,third,second');
    assert.equal((await tool('third')).priority, 95);
    await row('second').getByRole('button', {name: 'Move'}).press('ArrowUp');
    await until(() => [...document.querySelectorAll('.tool .name')].slice(0, 3).map((one) => one.textContent).join() === 'first,second,third');
    assert.ok((await tool('second')).priority > 95);
    await until(() => document.activeElement.getAttribute('aria-label')?.startsWith('Move second'));
    const [from, to] = [await row('third').locator('.handle').boundingBox(), await row('first').boundingBox()];
    await page.mouse.move(from.x + 5, from.y + 5);
    await page.mouse.down();
    await page.mouse.move(to.x + 20, to.y + 25, {steps: 4});
    await page.mouse.move(to.x + 20, to.y + 4, {steps: 2});
    await page.mouse.up();
    await until(() => [...document.querySelectorAll('.tool .name')].slice(0, 3).map((one) => one.textContent).join() === 'third,first,second');
    await until(() => Number(document.querySelector('.tool .priority').value) > 100); // it was there already while it was dragged
    assert.ok((await tool('third')).priority > 100);
});

await passes('texts of tools are texts, whatever they look like', async () => {
    await page.getByLabel('Search tools').fill('evil.example');
    await until(() => document.querySelectorAll('.tool:not([hidden])').length === 1);
    assert.equal(await row('hostile').locator('.text').textContent(), hostile.replace('\u202e', '\\u{202e}'));
    await goTo('#/tools/hostile');
    await page.getByRole('button', {name: 'Call', exact: true}).click();
    await shows(page.locator('.result'), 'onerror');
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await page.locator('main img, main script, main iframe, a[href^="http"], a[href^="javascript"]').count(), 0);
    await goTo(`#/tools/${encodeURIComponent('<img src=x onerror=window.hit=1>')}`);
    await shows(page.locator('main'), 'not found');
    assert.equal(await page.evaluate(() => window.hit), undefined);
});

await passes('a search shows what the host ranks, in that order, then what else has the text', async () => {
    const search = page.getByLabel('Search tools');
    const shown = () => page.locator('.tool:not([hidden]) .name').allTextContents();
    const lists = async (text, more = []) => {
        const wanted = (await ask('GET', `/api/search?text=${encodeURIComponent(text)}&limit=50`, {token: boss})).json.tools.map((hit) => hit.tool);
        await search.fill(text);
        await until((all) => [...document.querySelectorAll('.tool:not([hidden]) .name')].map((one) => one.textContent).join() === all, [...wanted, ...more].join())
            .catch(async () => assert.deepEqual(await shown(), [...wanted, ...more], text));
        return wanted;
    };
    await goTo('#/tools');
    for (const text of ['send mail', '发送邮件']) {
        assert.deepEqual((await lists(text)).slice(0, 2), ['letter', 'mailbox']); // by priority it is the other way round
    }
    await isAccessible('a search');
    assert.ok((await lists('mail')).includes('stamp'));
    command('disable', 'stamp'); // is no candidate, and is found here to be switched on
    assert.ok(!(await lists('mail', ['stamp'])).includes('stamp'));
    command('enable', 'stamp');
    assert.ok((await lists('mail')).includes('stamp'));
    assert.deepEqual(await lists('ailbo', ['mailbox']), []);
    assert.deepEqual(await lists('qzxv wvkj'), []);
    await shows(page.getByText('No tool fits.'), 'No tool fits.');
    assert.match(await page.locator('.count').textContent(), /^0 of \d+ tools$/);
    await search.fill('');
    await until(() => !document.querySelector('.tool[hidden]'));
    assert.deepEqual((await shown()).slice(0, 3), ['third', 'first', 'second']);
});

await passes('a call is made by the form of its schema, with its JSON beside it', async () => {
    await goTo('#/tools/shaped');
    await page.getByRole('heading', {name: 'Call'}).waitFor();
    const json = page.getByLabel('Arguments as JSON');
    const value = async () => JSON.parse(await json.inputValue());
    await isAccessible('a tool');
    await page.getByLabel('name', {exact: false}).first().fill('box');
    await page.getByLabel('size').selectOption('3');
    await page.getByLabel('count').fill('4');
    await page.getByLabel('ratio').fill('1.5');
    await page.getByLabel('flag').selectOption('true');
    await page.getByLabel('day').fill('2026-02-03');
    await page.getByLabel('kind').selectOption('k');
    await page.getByRole('button', {name: '+ Item of marks'}).click();
    await page.getByLabel('Item 1').fill('m');
    await page.getByRole('spinbutton', {name: 'x', exact: true}).fill('7');
    await page.getByLabel('either').selectOption('Pair');
    await page.getByLabel('left').fill('1');
    await page.getByLabel('any').fill('[null]');
    assert.deepEqual(await value(), {name: 'box', size: 3, count: 4, ratio: 1.5, flag: true, day: '2026-02-03', kind: 'k', marks: ['m'], point: {x: 7}, either: {left: 1}, any: [null]});
    await json.fill('{"name":"pot","size":"small","marks":["a","b"],"either":"w"}');
    assert.equal(await page.getByLabel('Item 2').inputValue(), 'b');
    assert.equal(await page.getByLabel('count').inputValue(), '');
    await page.getByLabel('Item 2').fill('c');
    assert.deepEqual(await value(), {name: 'pot', size: 'small', marks: ['a', 'c'], either: 'w'});
    await page.getByRole('button', {name: 'Call', exact: true}).click();
    await shows(page.locator('.result'), '"a": 1');
    await page.locator('.chart').first().waitFor();
    await page.getByLabel('count').fill('99');
    await page.getByRole('button', {name: 'Call', exact: true}).click();
    await shows(page.locator('.result'), 'InvalidArguments');
    assert.equal(await page.getByLabel('count').getAttribute('aria-invalid'), 'true');
    await json.fill('{');
    await shows(page.locator('.raw .wrong'), 'no JSON');
    await isAccessible('a tool that was called');
});

await passes('a call shows its progress, and can be cancelled', async () => {
    await goTo('#/tools/listens');
    await page.getByRole('button', {name: 'Call', exact: true}).click();
    await shows(page.locator('.progress'), 'under way');
    await page.getByRole('button', {name: 'Cancel'}).click();
    await shows(page.locator('.result'), 'Cancelled');
});

await passes('a call that waits is seen with what it would do, and answered by one click', async () => {
    await goTo('#/approvals');
    await shows(page.locator('main'), 'No call waits');
    assert.equal((await call('asks', {what: hostile})).status, 409);
    const card = page.locator('.approval');
    await shows(card.locator('.block'), 'onerror');
    await shows(page.locator('#waiting'), '1');
    await isAccessible('approvals');
    await card.getByRole('button', {name: 'Allow once'}).click();
    await card.waitFor({state: 'detached'});
    assert.equal((await call('asks', {what: hostile})).status, 200);
    assert.equal((await call('asks', {what: 'no'})).status, 409);
    await card.getByRole('button', {name: 'Deny'}).click();
    await card.waitFor({state: 'detached'});
    assert.equal((await call('asks', {what: 'no'})).json.error.type, 'PermissionDenied');
    // What runs is what is shown: each digit, and no second member of a name.
    assert.equal((await call('asks', '{"what":"x","what":"y"}')).status, 422);
    const exact = '{"n":9007199254740993,"more":[1.50,{},"\\u0000 \\"b\\""]}';
    assert.equal((await call('asks', exact)).status, 409);
    assert.equal(await card.locator('.block').textContent(), '{\n  "n": 9007199254740993,\n  "more": [\n    1.50,\n    {},\n    "\\u0000 \\"b\\""\n  ]\n}');
    await card.getByRole('button', {name: 'Deny'}).click();
    await card.waitFor({state: 'detached'});
    assert.equal(await page.evaluate(() => window.hit), undefined);
});

await passes('a run is seen as a graph and as a list while it runs, and is cancelled here', async () => {
    const nodes = [{id: 'one', tool: 'first'}, {id: 'two', tool: 'hostile', arguments: {a: {$ref: '#/nodes/one/result/a'}}}, {id: 'long', tool: 'listens', depends_on: ['one']},
        {id: 'last', tool: 'third', depends_on: ['two', 'long']}];
    const begin = async (plan) => (await ask('POST', '/api/runs', {body: {plan}, token: user})).json.id;
    await goTo('#/runs');
    await shows(page.locator('main'), 'No plan has run');
    const id = await begin({name: '报告', nodes});
    await page.locator('.runs a', {hasText: '报告'}).click();
    await page.locator('.graph .node.running').waitFor();
    await page.locator('.graph .node.succeeded').nth(1).waitFor();
    assert.equal(await page.locator('.graph .node').count(), 4);
    assert.equal(await page.locator('.graph path.edge').count(), 4);
    const left = (node) => page.locator('.graph .node', {hasText: node}).locator('rect').getAttribute('x').then(Number);
    assert.ok(await left('one') < await left('two') && await left('two') === await left('long') && await left('long') < await left('last'));
    await isAccessible('a run');
    await page.locator('.graph .node', {hasText: 'two'}).click();
    await shows(page.locator('.nodes details[open] .block'), 'onerror');
    await page.getByRole('button', {name: 'Cancel'}).click();
    await shows(page.locator('.pairs .pill'), 'cancelled');
    await page.locator('.graph .node.cancelled').first().waitFor();
    assert.equal((await ask('GET', `/api/runs/${id}`, {token: user})).json.state, 'cancelled');
    await page.getByRole('button', {name: 'Remove'}).click();
    await shows(page.locator('main'), 'No plan has run');
    const failed = await begin({nodes: [{id: 'bad', tool: 'says-nothing', on_error: 'skip'}]});
    assert.equal(failed, undefined, 'a plan of no tool does not run');
    const done = await begin({nodes: Array.from({length: 200}, (none, i) => ({id: `n${i}`, tool: 'first', depends_on: i < 20 ? [] : [`n${i - 20}`]})), result: {text: hostile}});
    await goTo(`#/runs/${done}`);
    await shows(page.locator('.pairs .pill'), 'succeeded');
    assert.equal(await page.locator('.graph .node.succeeded').count(), 200);
    await shows(page.getByRole('region', {name: 'Result of the run'}), 'onerror');
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than its window');
    await goTo('#/runs');
    await shows(page.locator('.runs'), '200 of 200 nodes');
    await isAccessible('runs');
    assert.equal(await page.evaluate(() => window.hit), undefined);
});

await passes('what a node of a plan needs is found in its values, and nothing else', async () => {
    const {layersOf, needsOf} = await import(`${process.env.REST_WEB}/runs.js`);
    assert.deepEqual(needsOf({depends_on: ['a'], arguments: {x: {$ref: '#/nodes/b/result'}, y: ['${nodes.c.result.z} ${HOME}'], z: {$literal: {$ref: '#/nodes/d/result'}},
        w: {$ref: '#/inputs/e'}, v: {$ref: '#/nodes/f/result', more: 1}}, when: {value: {$ref: '#/nodes/g/result'}}, for_each: {$ref: '#/nodes/h/result'}}).sort(), ['a', 'b', 'c', 'g', 'h']);
    const chain = Array.from({length: 3000}, (none, i) => ({id: `n${i}`, depends_on: i > 0 ? [`n${i - 1}`] : []}));
    assert.equal(layersOf(chain).length, 3000);
    assert.deepEqual(layersOf([{id: 'c', depends_on: ['a', 'b']}, {id: 'b', depends_on: ['a']}, {id: 'a'}]).map((layer) => layer.map((one) => one.id)), [['a'], ['b'], ['c']]);
});

await passes('the log is followed, filtered and read back', async () => {
    await goTo('#/log');
    await shows(page.locator('.count'), /^following/);
    const before = await page.locator('.call').count();
    await call('second');
    await until((count) => document.querySelectorAll('.call').length === count + 1, before);
    await shows(page.locator('.call').first(), 'second');
    await page.locator('.call').first().locator('summary').click();
    await shows(page.locator('.details').first(), 'token:user');
    await isAccessible('the log');
    await page.getByLabel('How calls ended').selectOption('errors');
    await until(() => document.querySelectorAll('.call').length > 0 && !document.querySelector('.call:not(.failed)'));
    await page.getByLabel('Only this tool').fill('third');
    await page.keyboard.press('Enter');
    await shows(page.locator('.empty:not([hidden])'), 'No call fits');
});

/** Use a page of its own, at a time of its own, that gets these calls as the log. */
async function withPageAt(time, hash, calls, use) {
    const other = await context.newPage();
    other.on('pageerror', (error) => troubles.push(error.stack));
    await other.clock.install({time});
    await other.route('**/api/log?*', (route) => /event-stream/.test(route.request().headers().accept) ? route.abort() : route.fulfill({json: {calls}}));
    await other.goto(`${site}/${hash}`);
    await use(other).finally(() => other.close());
}

const logged = (...when) => ({id: 1, tool: 'first', version: '1.0.0', time_ms: new Date(...when).getTime(), duration_ns: 1000, ok: true, arguments: '{}', result: '1', error: null});

await passes('a time of another day has its date, also when midnight passes', async () => {
    const calls = [logged(2030, 11, 31, 8, 5, 6), logged(2031, 2, 3, 8, 5, 6), logged(2031, 2, 4, 8, 5, 6)];
    await withPageAt(new Date(2031, 2, 4, 23, 59, 50), '#/log', calls, async (night) => {
        const shown = () => night.locator('.call time').allTextContents();
        await night.locator('.call').nth(2).waitFor();
        assert.deepEqual(await shown(), ['08:05:06', 'Mar 3 08:05:06', 'Dec 31, 2030 08:05:06']);
        assert.ok(await night.evaluate(() => [...document.querySelectorAll('.call time')].every((one) => one.scrollWidth <= one.clientWidth)), 'a time is wider than its column');
        await night.clock.fastForward(20_000);
        await night.waitForFunction(() => document.querySelector('.call time').textContent !== '08:05:06');
        assert.deepEqual(await shown(), ['Mar 4 08:05:06', 'Mar 3 08:05:06', 'Dec 31, 2030 08:05:06']);
    });
});

await passes('the axis of a chart has days where it leaves today; of how many calls it is made is said', async () => {
    const calls = [logged(2031, 2, 4, 23, 45)];
    await withPageAt(new Date(2031, 2, 5, 0, 30), '#/tools/first', calls, async (night) => {
        const range = night.getByLabel('How far back');
        const axis = () => night.locator('.chart').first().locator('.axis').allTextContents().then((all) => all.filter((text) => /:|[A-Z]/.test(text)).join(' | '));
        await shows(night.locator('.plots'), '1 call');
        await range.selectOption('Last hour');
        await night.waitForFunction(() => document.querySelector('.chart').textContent.includes('23:30'));
        assert.match(await axis(), /^Mar 4 23:30 \| 00:00 \| 00:(28|29)$/);
        await range.selectOption('Last week');
        await night.waitForFunction(() => !document.querySelector('.chart').textContent.includes('23:30'));
        assert.match(await axis(), /^Feb 26 \| Mar 1 \| Mar 4$/);
        calls.splice(0, 1, ...Array.from({length: 1000}, () => logged(2031, 2, 5, 0, 10)));
        await range.selectOption('All kept');
        await shows(night.locator('.plots'), 'the newest 1,000 calls');
    });
});

await passes('a crash is told at once, with its backtrace; a quarantine is ended', async () => {
    await goTo('#/plugins');
    await shows(page.locator('.plugin-row'), 'says');
    await isAccessible('plugins');
    await page.getByRole('link', {name: 'says', exact: true}).click();
    await shows(page.locator('h1'), 'says');
    await call('aborts');
    await shows(page.locator('.note'), 'SIGABRT');
    await shows(page.locator('.crash .block'), 'aborts+');
    await call('aborts');
    await call('traps');
    await shows(page.locator('.pairs'), 'quarantined');
    await isAccessible('a plugin');
    await page.getByRole('button', {name: 'Release'}).click();
    await page.getByRole('button', {name: 'Release'}).waitFor({state: 'detached'});
    await page.getByRole('button', {name: 'Reload'}).click();
    await shows(page.locator('.note'), 'reloaded');
    assert.ok(await page.locator('.note').count() <= 3); // of three crashes, a quarantine, a release and a reload
    await goTo('#/events');
    await shows(page.locator('.event'), 'quarantined');
    await shows(page.locator('.event'), 'crashed');
    await isAccessible('events');
});

await passes('a lost connection is told, and what was missed is shown after it', async () => {
    await goTo('#/tools');
    await row('first').waitFor();
    await lose();
    await shows(page.locator('#lost'), 'was lost');
    await isAccessible('a lost connection');
    command('disable', 'second');
    await listenAt(door);
    await page.locator('#lost').waitFor({state: 'hidden'});
    await shows(row('second'), 'disabled');
    await goTo('#/events');
    await shows(page.locator('.event'), 'second');
});

await passes('a server that was killed and is there again lets the same page log in', async () => {
    await stop();
    await shows(page.locator('#lost'), 'was lost');
    await start();
    await shows(page.locator('.why'), 'session has ended');
    await logIn();
    await shows(page.locator('.tabs [aria-current]'), 'Events');
});

await passes('a thousand tools are listed and searched', async () => {
    const tools = Array.from({length: 1000}, (_, i) => ({id: `t${i}`, uid: i, name: `t${i}`, version: '1.0.0', description: `Gives number ${i}`, enabled: true,
        priority: 1000 - i, permission: 'safe', category: null, tags: ['a', 'b'], scenarios: [], plugin: 'many', state: 'loaded'}));
    await page.route('**/api/tools', (route) => route.fulfill({json: {tools}}));
    await goTo('#/tools');
    await until(() => document.querySelectorAll('.tool').length === 1000);
    await page.unroute('**/api/tools');
    const took = await page.evaluate(async () => {
        const search = document.querySelector('.filters input');
        const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        const times = [];
        for (const text of ['9', '99', '999', '', '8', '88', '888', '', '7', '77', '777', '']) {
            await frame();
            const began = performance.now();
            search.value = text;
            search.dispatchEvent(new Event('input', {bubbles: true}));
            await frame();
            times.push(performance.now() - began);
            const wanted = Array.from({length: 1000}, (_, i) => String(i)).filter((number) => number.includes(text)).length;
            const shown = document.querySelectorAll('.tool:not([hidden])').length;
            if (shown !== wanted) {
                throw new Error(`${shown} tools are shown for "${text}", not ${wanted}`);
            }
        }
        return Math.min(...times);
    });
    console.log(`# a search among 1,000 tools takes ${Math.round(took)} ms`);
});

await passes('all is reached by the keyboard, and where it is can be seen', async () => {
    await page.setViewportSize({width: 390, height: 844});
    await goTo('#/tools/first');
    await page.getByRole('heading', {name: 'History'}).waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it is wider than a phone');
    await isAccessible('a tool on a phone');
    await goTo('#/tools');
    await row('first').waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it is wider than a phone');
    await isAccessible('tools on a phone');
    await page.reload();
    await row('first').waitFor();
    const seen = new Set();
    for (let i = 0; i < 24; i++) {
        await page.keyboard.press('Tab');
        const [what, outline] = await page.evaluate(() => [document.activeElement.className || document.activeElement.id || document.activeElement.hash, getComputedStyle(document.activeElement).outlineStyle]);
        assert.notEqual(outline, 'none', what);
        seen.add(what);
    }
    for (const what of ['skip', 'brand', 'handle', 'switch', 'name', 'priority']) {
        assert.ok(seen.has(what), `${what} is not among ${[...seen]}`);
    }
});

await passes('the theme is chosen and kept; who logs out is out', async () => {
    await page.getByRole('button', {name: 'Theme'}).click();
    await page.getByRole('button', {name: 'Theme'}).click();
    await page.reload();
    await row('first').waitFor();
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'dark');
    await page.getByRole('button', {name: 'Log out'}).click();
    await page.getByLabel('Token of an administrator').waitFor();
    assert.deepEqual((await context.cookies()).filter(({name}) => name.startsWith('toolrack')), []);
    await page.reload();
    await page.getByLabel('Token of an administrator').waitFor();
});

await passes('at the name localhost the page leads to the address', async () => {
    const other = await browser.newContext();
    const elsewhere = await other.newPage();
    await elsewhere.goto(`http://localhost:${door}/#/approvals`);
    await elsewhere.getByLabel('Token of an administrator').waitFor();
    assert.equal(elsewhere.url(), `${site}/#/approvals`);
    await other.close();
});

await passes('nothing went wrong in the page meanwhile, and it asked nobody else', async () => {
    assert.deepEqual(troubles, []);
});

await soon(browser.close(), 'the end of the browser');
await lose();
await finish();
