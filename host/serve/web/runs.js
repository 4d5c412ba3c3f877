// runs.js - runs of plans; and one of them: its nodes as a graph and as a list, while it runs and after that.
import {ask, part} from './api.js';
import {action, block, duration, empty, fill, h, moment, note, pill, plural, pretty, svg, visible} from './dom.js';

const tones = {running: 'warn', succeeded: 'good', failed: 'bad', interrupted: 'bad', waiting: 'warn', cancelled: 'calm', skipped: 'calm'};
const state = (word) => pill(word, tones[word]);
const isOver = (run) => ['succeeded', 'failed', 'cancelled'].includes(run.state);

/** Ask again after some time, while the page is seen and something may change: nothing tells of nodes. */
function again(ms, refresh) {
    let timer;
    const look = () => { clearTimeout(timer); timer = setTimeout(() => document.hidden ? look() : refresh(), ms); };
    return {look, stop: () => clearTimeout(timer)};
}

// ---------------------------------------------------------------- the list

export function showRuns(root) {
    const list = h('ul', {class: 'plugins runs'});
    const count = h('p', {class: 'count', role: 'status'});
    const none = empty('No plan has run. ', h('code', {}, 'toolrack run PLAN.json'), ' runs one, and POST /api/runs.');
    const timer = again(2_000, refresh);
    none.hidden = true;
    fill(root, h('div', {class: 'head'}, h('h1', {}, 'Runs'), count), none, list);

    const row = (run) => h('li', {class: 'plugin-row'},
        h('div', {class: 'about'}, h('a', {class: 'name', href: `#/runs/${part(run.id)}`}, run.name ?? 'plan'), h('span', {class: 'version'}, run.id.slice(0, 8)),
            h('p', {class: 'text'}, moment(run.created_ms), ` ${run.caller ?? ''}`)),
        h('div', {class: 'state'}, state(run.state), h('p', {class: 'reason'}, `${run.succeeded} of ${plural(run.nodes, 'node')}`, run.error && `: ${run.error}`)));

    async function refresh() {
        try {
            const {runs} = await ask('GET', '/api/runs');
            const focused = document.activeElement?.hash;
            fill(list, runs.map(row));
            list.hidden = runs.length === 0;
            none.hidden = runs.length > 0;
            count.textContent = runs.length > 0 ? plural(runs.length, 'run') : '';
            if (focused?.startsWith('#/runs/')) {
                [...list.querySelectorAll('a')].find((one) => one.hash === focused)?.focus();
            }
            timer.look();
        } catch (error) {
            if (error.status !== 0) {
                note(error.message, 'bad');
            }
            timer.look();
        }
    }

    refresh();
    return {refresh, leave: timer.stop};
}

// ---------------------------------------------------------------- the graph

/** The nodes that one needs: those that its values refer to, and depends_on. */
export function needsOf(node) {
    const found = new Set(node.depends_on ?? []);
    const look = (value) => {
        if (typeof value === 'string') {
            for (const [, id] of value.matchAll(/\$\{nodes\.([A-Za-z_][\w-]*)\./g)) {
                found.add(id);
            }
        } else if (Array.isArray(value)) {
            value.forEach(look);
        } else if (value && typeof value === 'object' && !('$literal' in value)) {
            const [, id] = Object.keys(value).length === 1 && typeof value.$ref === 'string' && /^#\/nodes\/([^/]+)/.exec(value.$ref) || [];
            id !== undefined ? found.add(id) : Object.values(value).forEach(look);
        }
    };
    [node.arguments, node.when, node.for_each, node.on_error].forEach(look);
    return [...found];
}

/** The nodes in layers, each after all that it needs; in a layer near to what they need. */
export function layersOf(nodes) {
    const byId = new Map(nodes.map((node) => [node.id, {id: node.id, needs: needsOf(node), layer: 0, waits: 0, then: []}]));
    for (const one of byId.values()) {
        one.needs = one.needs.filter((id) => byId.has(id) && id !== one.id);
        one.waits = one.needs.length;
        one.needs.forEach((id) => byId.get(id).then.push(one));
    }
    const layers = [];
    const ready = [...byId.values()].filter((one) => one.waits === 0);
    for (const one of ready) {
        (layers[one.layer] ??= []).push(one);
        for (const next of one.then) {
            next.layer = Math.max(next.layer, one.layer + 1);
            if (--next.waits === 0) {
                ready.push(next);
            }
        }
    }
    for (const layer of layers) {
        for (const one of layer) {
            one.middle = one.needs.length > 0 ? one.needs.reduce((sum, id) => sum + byId.get(id).row, 0) / one.needs.length : 0;
        }
        layer.sort((a, b) => a.middle - b.middle).forEach((one, i) => { one.row = i; });
    }
    return layers;
}

const graphMax = 500; // nodes: more are a list
const [boxWidth, boxHeight, gapX, gapY, edge] = [176, 46, 54, 14, 8];
const [idMax, toolMax] = [19, 16]; // characters in a box

/** As much of a text as a box has room for: characters of East Asia are twice as wide. */
function cut(text, most) {
    let room = most;
    const chars = [...visible(text)];
    const end = chars.findIndex((one) => (room -= one.codePointAt(0) > 0x2e7f ? 2 : 1) < 0);
    return end < 0 ? chars.join('') : `${chars.slice(0, end - 1).join('')}…`;
}

/** The graph of a run, and a function that shows the states and times of another moment of it. */
function graphOf(run, choose) {
    const layers = layersOf(run.plan.nodes);
    const rows = Math.max(...layers.map((layer) => layer.length));
    const [width, height] = [layers.length * (boxWidth + gapX) - gapX + 2 * edge, rows * (boxHeight + gapY) - gapY + 2 * edge];
    const placed = new Map();
    layers.forEach((layer, column) => layer.forEach((one, i) => placed.set(one.id, {...one, x: edge + column * (boxWidth + gapX),
        y: edge + (i + (rows - layer.length) / 2) * (boxHeight + gapY)})));
    const tools = new Map(run.nodes.map((node) => [node.id, node.tool]));
    const boxes = new Map();
    const lines = [...placed.values()].flatMap((one) => one.needs.map((id) => {
        const from = placed.get(id);
        const [x1, y1, x2, y2] = [from.x + boxWidth, from.y + boxHeight / 2, one.x, one.y + boxHeight / 2];
        const bend = Math.max(gapX / 2, (x2 - x1) / 3);
        return svg('path', {class: 'edge', d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 5} ${y2}`, 'marker-end': 'url(#arrow)'});
    }));
    for (const one of placed.values()) {
        const took = svg('text', {class: 'sub end', x: one.x + boxWidth - 10, y: one.y + 36, 'text-anchor': 'end'});
        const title = svg('title', {});
        const element = svg('g', {class: 'node', on: {click: () => choose(one.id)}}, title,
            svg('rect', {x: one.x, y: one.y, width: boxWidth, height: boxHeight, rx: 8}),
            svg('text', {x: one.x + 10, y: one.y + 19}, cut(one.id, idMax)),
            svg('text', {class: 'sub', x: one.x + 10, y: one.y + 36}, cut(tools.get(one.id) ?? '', toolMax)), took);
        boxes.set(one.id, {element, took, title});
    }
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img'},
        svg('defs', {}, svg('marker', {id: 'arrow', viewBox: '0 0 8 8', refX: 3, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto'},
            svg('path', {class: 'tip', d: 'M0 0L8 4L0 8z'}))), lines, [...boxes.values()].map((one) => one.element));
    const show = (nodes) => {
        for (const node of nodes) {
            const box = boxes.get(node.id);
            box?.element.setAttribute('class', `node ${node.state}`);
            fill(box.title, `${node.id}: ${node.tool}, ${node.state}${node.fallback ? ' by its fallback' : ''}`);
            fill(box.took, timeOf(node));
        }
        picture.setAttribute('aria-label', `Graph of ${plural(nodes.length, 'node')} in ${plural(layers.length, 'layer')}; the list below has the same`);
    };
    return {picture, show};
}

function timeOf(node) {
    const ms = node.began_ms === null ? null : (node.ended_ms ?? Date.now()) - node.began_ms;
    return ms === null ? '' : ms === 0 ? '<1 ms' : duration(ms * 1e6);
}

// ---------------------------------------------------------------- one run

export function showRun(root, id) {
    const crumb = () => h('p', {class: 'crumb'}, h('a', {href: '#/runs'}, '← Runs'));
    const head = h('div', {class: 'head'});
    const facts = h('dl', {class: 'pairs'});
    const words = h('section', {class: 'card', 'aria-label': 'Words that are needed', hidden: true});
    const drawn = h('div', {class: 'graph', tabindex: '0', role: 'region', 'aria-label': 'Graph'});
    const list = h('div', {class: 'calls nodes', 'aria-label': 'Nodes'});
    const result = h('section', {class: 'card', 'aria-label': 'Result', hidden: true});
    const rows = new Map();
    const said = new Map(); // of a node: 'repeat' or 'skip'
    const timer = again(1_000, refresh);
    const path = `/api/runs/${part(id)}`;
    let graph;
    let json;
    fill(root, crumb(), head, facts, words, drawn, h('h2', {class: 'between'}, 'Nodes'), list, result);

    function rowOf(node, planned) {
        const row = h('details', {class: 'call'}, h('summary', {}));
        let now = node;
        let shown;
        const show = () => row.open && shown !== now && (shown = now) && fill(row.children[1] ?? row.appendChild(h('div', {class: 'details'})),
            now.error && h('p', {class: 'message'}, `${now.error.code}: ${now.error.message}`),
            now.fallback && h('p', {class: 'message'}, `Its fallback gave the result, in place of ${now.fallback.code}: ${now.fallback.message}`),
            now.unkept && h('p', {class: 'message'}, now.unkept),
            h('h2', {}, 'Arguments'), block(pretty(planned?.arguments ?? {}), `Arguments of ${node.id}`),
            'result' in now && [h('h2', {}, 'Result'), block(pretty(now.result), `Result of ${node.id}`)]);
        row.addEventListener('toggle', show);
        return {row, take: (one) => {
            now = one;
            row.className = `call${one.state === 'failed' ? ' failed' : ''}`;
            fill(row.firstElementChild, h('span', {class: 'name'}, one.id), one.state === 'waiting' ? pill('waiting', 'calm') : state(one.state), h('span', {class: 'took'}, timeOf(one)),
                h('span', {class: 'gist'}, one.error?.message ?? `${one.tool} ${one.version ?? ''}`, one.fallback && ', by its fallback', one.attempts > 1 && `, ${plural(one.attempts, 'attempt')}`));
            show();
        }};
    }

    function choose(node) {
        const {row} = rows.get(node);
        row.open = true;
        row.scrollIntoView({block: 'center'});
        row.firstElementChild.focus();
    }

    const act = (label, what, body, told, kind) => action(label, async () => {
        await ask('POST', `${path}/${what}`, body?.() ?? {});
        note(told);
        await refresh();
    }, {kind});

    function showWords(run) {
        const needed = run.nodes.filter((node) => node.word === 'needed');
        words.hidden = needed.length === 0;
        fill(words, h('h2', {}, 'What ran when its process ended'), h('p', {class: 'caption'}, 'Whether these calls took effect is not known. Say of each whether it is made again or skipped.'),
            needed.map((node) => {
                const key = `word-${node.id}`;
                return h('div', {class: 'row'}, h('label', {for: key}, node.id), h('select', {id: key, on: {change: ({target}) => said.set(node.id, target.value)}},
                    [['', 'choose'], ['repeat', 'repeat it'], ['skip', 'skip it']].map(([value, label]) => h('option', {value, selected: said.get(node.id) === value}, label))));
            }));
    }

    const wordsOf = () => ({repeat: [...said].filter(([, word]) => word === 'repeat').map(([node]) => node),
                            skip: [...said].filter(([, word]) => word === 'skip').map(([node]) => node)});

    function take(run) {
        const line = (term, ...value) => value.some((one) => one !== null && one !== undefined && one !== '') && [h('dt', {}, term), h('dd', {}, ...value)];
        if (!graph) {
            const planned = new Map(run.plan.nodes.map((node) => [node.id, node]));
            const fits = run.nodes.length <= graphMax;
            graph = fits ? graphOf(run, choose) : {show: () => {}};
            fill(drawn, fits ? graph.picture : empty(`The plan has ${plural(run.nodes.length, 'node')}; a graph is drawn of ${graphMax} at most.`));
            for (const node of run.nodes) {
                rows.set(node.id, rowOf(node, planned.get(node.id)));
            }
            fill(list, [...rows.values()].map((one) => one.row));
        }
        const resumes = ['interrupted', 'waiting'].includes(run.state);
        fill(head, h('h1', {}, run.name ?? 'plan', ' ', h('span', {class: 'version'}, run.id.slice(0, 8))),
            h('div', {class: 'controls'}, !isOver(run) && act('Cancel', 'cancel', undefined, 'The run was cancelled.', 'danger'),
                resumes && act('Resume', 'resume', wordsOf, 'The run goes on.', 'primary'),
                isOver(run) && action('Remove', async () => { await ask('DELETE', path); location.hash = '#/runs'; })));
        fill(facts, line('State', state(run.state), run.error && h('span', {class: 'reason'}, run.error)),
            line('Nodes', `${run.succeeded} of ${run.nodes.length} succeeded`), line('Began', moment(run.created_ms)),
            line('Took', run.ended_ms === null ? null : duration((run.ended_ms - run.created_ms) * 1e6)), line('Caller', run.caller), line('Channel', run.channel),
            Object.keys(run.inputs ?? {}).length > 0 && line('Inputs', h('code', {}, JSON.stringify(run.inputs))));
        showWords(run);
        result.hidden = run.state !== 'succeeded';
        fill(result, h('h2', {}, 'Result'), block(pretty(run.result), 'Result of the run'));
    }

    async function refresh() {
        let run;
        try {
            run = await ask('GET', path, undefined, {digits: true});
        } catch (error) {
            if (error.status !== 0) {
                fill(root, crumb(), h('h1', {}, 'Run'), empty(error.message));
                return;
            }
            timer.look();
            return;
        }
        const text = JSON.stringify(run);
        if (text !== json) {
            json = text;
            take(run);
        }
        graph.show(run.nodes);
        for (const node of run.nodes) {
            rows.get(node.id).take(node);
        }
        if (!isOver(run)) {
            timer.look();
        }
    }

    refresh();
    return {refresh, leave: timer.stop};
}
