// events.js - what happened to tools and plugins since the page was opened.
import {part} from './api.js';
import {empty, fill, h, moment, pill} from './dom.js';

const keptMax = 500;
const kept = [];
let shown = () => {};

const tones = {failed: 'bad', stuck: 'bad', crashed: 'bad', quarantined: 'bad', refused: 'bad', 'changed-text': 'warn', missed: 'warn',
    recovered: 'good', released: 'good', reloaded: 'good', added: 'good'};

/** Keep an event, whichever view is shown. */
export function remember(event) {
    const one = {time_ms: Date.now(), ...event};
    kept.unshift(one);
    kept.length = Math.min(kept.length, keptMax);
    shown(one);
}

const row = (event) => h('li', {class: 'event'}, moment(event.time_ms), pill(event.kind, tones[event.kind] ?? 'calm'),
    event.tool ? h('a', {class: 'name', href: `#/tools/${part(event.tool)}`}, event.tool)
        : event.plugin ? h('a', {class: 'name', href: `#/plugins/${part(event.plugin)}`}, event.plugin) : h('span', {class: 'name'}),
    h('span', {class: 'gist'}, event.kind === 'missed' ? 'The connection was lost for so long that not all events are known.' : event.message ?? ''));

export function showEvents(root) {
    const list = h('ol', {class: 'events'});
    const none = empty('Nothing has happened since the page was opened.');
    fill(root, h('div', {class: 'head'}, h('h1', {}, 'Events')), none, h('div', {role: 'log', 'aria-label': 'Events, the newest first', 'aria-live': 'off'}, list));
    fill(list, kept.map(row));
    none.hidden = kept.length > 0;
    shown = (event) => {
        list.prepend(row(event));
        none.hidden = true;
        if (list.children.length > keptMax) {
            list.lastElementChild.remove();
        }
    };
    return {leave: () => { shown = () => {}; }};
}
