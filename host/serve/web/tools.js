// tools.js - all registered tools: switched, ordered, searched.
//
// The list is the order in which models are offered tools: the highest priority first, and equal ones by name. Of a search
// those that the host ranks come first, in its order; then those that have the text, but are no candidates of the host
// (disabled, for instance), or have it within a word. A thousand rows are built once; the browser draws only those that are
// seen (content-visibility), and a refresh changes only rows that have changed.
import {ask, part} from './api.js';
import {action, empty, fill, h, newId, note, pill, plural} from './dom.js';

// Priorities of other tools that one move may change, where equal ones leave no room.
const shiftsMax = 25;

const fullName = (tool) => `${tool.name}@${tool.version}`;
const keyOf = (tool) => `${tool.plugin}\n${fullName(tool)}`;
const set = (tool, change) => ask('PATCH', `/api/tools/${part(fullName(tool))}`, change);

/** Which priorities put the tool at `from` to `to` of a list without it: pairs of a tool and its priority. */
export function reorder(tools, from, to) {
    const moved = tools[from];
    const others = tools.filter((tool) => tool !== moved);
    const above = others[to - 1];
    const below = others[to];
    const changes = [];
    let priority = above && below ? Math.floor((above.priority + below.priority) / 2)
        : above ? above.priority - 1 : below ? below.priority + 1 : moved.priority;
    if (below && priority <= below.priority) {
        priority = below.priority + 1;
    }
    if (priority !== moved.priority) {
        changes.push([moved, priority]);
    }
    for (let i = to - 1, least = priority + 1; i >= 0 && others[i].priority < least; i--, least++) {
        changes.push([others[i], least]);
    }
    return changes;
}

// The host ranks the tools for a text when nobody has typed for so long.
const lookAfterMs = 200;
const foundMax = 50;

export function showTools(root) {
    let tools = [];
    let found = new Map(); // of the text that is searched with: the place of each name that the host ranks
    let looking; // set until the host has ranked them
    const rows = new Map();
    const list = h('ol', {class: 'tools', 'aria-label': 'Tools, the highest priority first'});
    const count = h('p', {class: 'count', role: 'status'});
    const searchId = newId();
    const search = h('input', {id: searchId, type: 'search', placeholder: 'Search names, texts, tags, plugins', 'aria-label': 'Search tools', on: {input: () => { found = new Map(); look(); place(); apply(); }}});
    const which = h('select', {'aria-label': 'Which tools', on: {change: apply}},
        [['', 'All'], ['on', 'Enabled'], ['off', 'Disabled'], ['bad', 'With a problem'], ['ask', 'That ask or are dangerous']]
            .map(([value, label]) => h('option', {value}, label)));

    fill(root, h('div', {class: 'head'}, h('h1', {}, 'Tools'), count, h('div', {class: 'filters'}, search, which)),
        h('div', {class: 'tools-head', 'aria-hidden': 'true'}, h('span', {}, ''), h('span', {}, 'On'), h('span', {}, 'Tool'), h('span', {}, 'State'), h('span', {}, 'Priority')),
        list);

    // ------------------------------------------------------------ a row

    function makeRow(tool) {
        const row = {tool};
        row.toggle = h('input', {type: 'checkbox', role: 'switch', class: 'switch', 'aria-label': `${tool.name} ${tool.version} enabled`,
            on: {change: () => change([[row.tool, {enabled: row.toggle.checked}]])}});
        row.number = h('input', {type: 'number', class: 'priority', step: '1', min: '-2147483648', max: '2147483647',
            'aria-label': `Priority of ${tool.name} ${tool.version}`, on: {change: () => {
                if (row.number.value === '' || !row.number.checkValidity()) {
                    row.number.value = row.tool.priority;
                } else {
                    change([[row.tool, {priority: Number(row.number.value)}]]);
                }
            }}});
        row.handle = h('button', {type: 'button', class: 'handle', 'aria-label': `Move ${tool.name} ${tool.version}: arrow keys`,
            title: 'Drag, or use the arrow keys', on: {keydown: (event) => moveByKey(event, row), pointerdown: (event) => drag(event, row)}}, '⠿');
        row.name = h('a', {class: 'name', href: `#/tools/${part(fullName(tool))}`}, tool.name);
        row.facts = h('span', {class: 'facts'});
        row.text = h('p', {class: 'text'});
        row.state = h('div', {class: 'state'});
        row.element = h('li', {class: 'tool'}, row.handle, row.toggle, h('div', {class: 'about'}, row.name, row.facts, row.text), row.state, row.number);
        return row;
    }

    function update(row, tool) {
        const text = JSON.stringify(tool);
        row.tool = tool;
        if (row.json === text) {
            return;
        }
        row.json = text;
        row.words = [tool.name, tool.description, tool.plugin, tool.category, ...tool.tags].join('\n').toLowerCase();
        row.toggle.checked = tool.enabled;
        if (document.activeElement !== row.number) {
            row.number.value = tool.priority;
        }
        row.element.classList.toggle('off', !tool.enabled);
        fill(row.facts, h('span', {class: 'version'}, tool.version),
            tool.permission !== 'safe' && pill(tool.permission),
            tool.plugin !== tool.name && h('span', {class: 'plugin'}, tool.plugin),
            tool.tags.slice(0, 4).map((tag) => h('span', {class: 'tag'}, tag)));
        fill(row.text, tool.description ?? '');
        row.text.title = tool.description ?? '';
        fill(row.state, pill(tool.enabled ? tool.state : 'disabled'), tool.reason && h('p', {class: 'reason'}, tool.reason));
    }

    // ------------------------------------------------------------ the list

    const isProblem = (tool) => Boolean(tool.reason) || !['listed', 'loaded'].includes(tool.state);
    const kinds = {'': () => true, on: (tool) => tool.enabled, off: (tool) => !tool.enabled, bad: isProblem, ask: (tool) => tool.permission !== 'safe'};

    function apply() {
        const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
        let shown = 0;
        for (const {element, words: text, tool} of rows.values()) {
            const fits = kinds[which.value](tool) && (found.has(tool.name) || words.every((word) => text.includes(word)));
            element.hidden = !fits;
            shown += fits;
        }
        list.classList.toggle('filtered', shown !== rows.size || found.size > 0);
        count.textContent = shown === rows.size ? plural(rows.size, 'tool') : `${shown} of ${plural(rows.size, 'tool')}`;
        list.classList.toggle('none', shown === 0);
        none.hidden = shown > 0 || looking !== undefined;
    }
    // The host knows other words for the same thing, in two languages.
    function look() {
        clearTimeout(looking);
        looking = undefined;
        const text = search.value.trim();
        if (text === '') {
            return;
        }
        const mine = looking = setTimeout(async () => {
            // One that fails finds nothing.
            const {tools: hits} = await ask('GET', `/api/search?text=${part(text)}&limit=${foundMax}`).catch(() => ({tools: []}));
            if (looking === mine) {
                looking = undefined;
                found = new Map(hits.map((hit, at) => [hit.tool, at]));
                place();
                apply();
            }
        }, lookAfterMs);
    }
    const none = empty('No tool fits.');
    none.hidden = true;
    root.append(none);

    function place() {
        const focused = document.activeElement;
        const rank = (tool) => found.get(tool.name) ?? found.size;
        let at = list.firstElementChild;
        for (const tool of found.size ? tools.toSorted((a, b) => rank(a) - rank(b)) : tools) {
            const {element} = rows.get(keyOf(tool));
            if (element === at) {
                at = at.nextElementSibling;
            } else {
                list.insertBefore(element, at);
            }
        }
        if (focused !== document.activeElement && list.contains(focused)) {
            focused.focus();
        }
    }

    async function refresh() {
        let got;
        try {
            ({tools: got} = await ask('GET', '/api/tools'));
        } catch (error) {
            if (error.status !== 0) {
                note(error.message, 'bad');
            }
            return;
        }
        if (dragged) {
            return; // it is refreshed when the row was dropped
        }
        const gone = new Set(rows.keys());
        tools = got;
        for (const tool of tools) {
            const key = keyOf(tool);
            gone.delete(key);
            if (!rows.has(key)) {
                rows.set(key, makeRow(tool));
            }
            update(rows.get(key), tool);
        }
        for (const key of gone) {
            rows.get(key).element.remove();
            rows.delete(key);
        }
        look();
        place();
        apply();
    }

    // ------------------------------------------------------------ changes

    /** Pairs of a tool and what it is set to. What is shown is what the server says after it. */
    async function change(changes) {
        try {
            for (const [tool, members] of changes) {
                await set(tool, members);
            }
        } catch (error) {
            note(error.message, 'bad');
            for (const row of rows.values()) {
                row.json = undefined; // the switch shows what it was again
            }
        }
        await refresh();
    }

    async function move(from, to) {
        const changes = reorder(tools, from, to);
        if (changes.length > shiftsMax) {
            note(`There is no number between its neighbours: ${changes.length} tools have the same priority, which are in the order of their names. Set numbers first.`, 'bad');
            return;
        }
        await change(changes.map(([tool, priority]) => [tool, {priority}]));
    }

    async function moveByKey(event, row) {
        const step = {ArrowUp: -1, ArrowDown: 1}[event.key];
        const from = tools.indexOf(row.tool);
        if (!step || list.classList.contains('filtered') || from + step < 0 || from + step >= tools.length) {
            return;
        }
        event.preventDefault();
        await move(from, from + step);
        row.handle.focus();
        count.textContent = `${row.tool.name} is number ${tools.indexOf(row.tool) + 1} of ${tools.length}, priority ${row.tool.priority}`;
    }

    let dragged;

    function drag(event, row) {
        if (event.button !== 0 || list.classList.contains('filtered')) {
            return;
        }
        event.preventDefault();
        row.handle.focus();
        dragged = row;
        row.element.classList.add('dragged');
        const follow = ({clientY}) => {
            const under = [...list.children].find((element) => {
                const box = element.getBoundingClientRect();
                return element !== row.element && clientY >= box.top && clientY < box.bottom;
            });
            if (under) {
                const box = under.getBoundingClientRect();
                list.insertBefore(row.element, clientY < box.top + box.height / 2 ? under : under.nextSibling);
            }
        };
        const drop = async ({type}) => {
            removeEventListener('pointermove', follow);
            removeEventListener('pointerup', drop);
            removeEventListener('pointercancel', drop);
            removeEventListener('keydown', escape);
            row.element.classList.remove('dragged');
            dragged = undefined;
            const to = [...list.children].indexOf(row.element);
            const from = tools.indexOf(row.tool);
            if (type === 'pointerup' && to !== from) {
                await move(from, to);
            }
            place();
        };
        const escape = (pressed) => pressed.key === 'Escape' && drop({type: 'pointercancel'});
        addEventListener('pointermove', follow);
        addEventListener('pointerup', drop);
        addEventListener('pointercancel', drop);
        addEventListener('keydown', escape);
    }

    refresh();
    return {refresh};
}
