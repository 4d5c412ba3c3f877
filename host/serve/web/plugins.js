// plugins.js - the plugins and the files that were refused; and one of them: why it is as it is.
import {ask, part} from './api.js';
import {action, block, empty, fill, h, moment, note, pill, plural} from './dom.js';

const outcomes = (files) => files.map((file) => `${file.plugin ?? file.file}: ${file.outcome}${file.reason ? `, ${file.reason}` : ''}`).join('; ');

export function showPlugins(root) {
    const list = h('ul', {class: 'plugins'});
    const count = h('p', {class: 'count', role: 'status'});
    fill(root, h('div', {class: 'head'}, h('h1', {}, 'Plugins'), count, h('div', {class: 'controls'}, action('Look at all files again', async () => {
        const {files} = await ask('POST', '/api/reload');
        note(outcomes(files) || 'No file has changed.');
        await refresh();
    }))), list);

    const row = (one) => h('li', {class: 'plugin-row'},
        h('div', {class: 'about'}, one.id ? h('a', {class: 'name', href: `#/plugins/${part(one.id)}`}, one.id) : h('span', {class: 'name'}, one.file ?? 'unknown'),
            h('span', {class: 'facts'}, one.version && h('span', {class: 'version'}, one.version), one.trust && h('span', {class: 'tag'}, one.trust),
                one.generation !== null && h('span', {class: 'tag'}, `generation ${one.generation}`), h('span', {class: 'tag'}, plural(one.tools, 'tool')),
                one.isolation && h('span', {class: 'tag'}, one.isolation === 'process' ? 'in workers' : 'in the host')),
            one.id && one.file && h('p', {class: 'text'}, one.file)),
        h('div', {class: 'state'}, pill(one.state), one.reason && h('p', {class: 'reason'}, one.reason)));

    async function refresh() {
        try {
            const {plugins} = await ask('GET', '/api/plugins');
            const focused = document.activeElement?.hash;
            fill(list, plugins.map(row));
            count.textContent = plural(plugins.length, 'plugin');
            if (focused?.startsWith('#/plugins/')) {
                [...list.querySelectorAll('a')].find((one) => one.hash === focused)?.focus();
            }
        } catch (error) {
            if (error.status !== 0) {
                note(error.message, 'bad');
            }
        }
    }

    refresh();
    return {refresh};
}

export function showPlugin(root, name) {
    const crumb = () => h('p', {class: 'crumb'}, h('a', {href: '#/plugins'}, '← Plugins'));
    const head = h('div', {class: 'head'});
    const facts = h('dl', {class: 'pairs'});
    const crashes = h('section', {class: 'card', 'aria-label': 'Crashes'});
    const history = h('section', {class: 'card', 'aria-label': 'History'});
    let json;
    fill(root, crumb(), head, facts, crashes, history);

    const path = (what) => `/api/plugins/${part(name)}/${what}`;
    const act = (label, what, words, kind) => action(label, async () => {
        const answer = await ask('POST', path(what));
        note(answer.files ? outcomes(answer.files) || 'Nothing has changed.' : `${name} ${words}`);
        await refresh();
    }, {kind});

    const crashRow = (one, i) => h('details', {class: 'crash', open: i === 0},
        h('summary', {}, moment(one.time_ms), h('span', {class: 'name'}, one.tool ?? ''), pill(one.stopped ? 'stopped' : one.signal ?? `exit ${one.exit_status}`, 'bad'), h('span', {class: 'gist'}, `generation ${one.generation}`)),
        h('div', {class: 'details'}, h('p', {class: 'message'}, one.reason), one.backtrace && block(one.backtrace, `Backtrace of a crash in ${one.tool}`),
            one.last_lines?.length > 0 && [h('h2', {}, 'Its last lines'), block(one.last_lines.join('\n'), 'Last lines of its output')]));

    async function refresh() {
        let plugin;
        try {
            plugin = await ask('GET', `/api/plugins/${part(name)}`);
        } catch (error) {
            if (error.status !== 0) {
                fill(root, crumb(), h('h1', {}, name), empty(error.message));
            }
            return;
        }
        if (JSON.stringify(plugin) === json) {
            return;
        }
        json = JSON.stringify(plugin);
        const isFile = /\.so$/.test(plugin.file ?? '');
        const line = (term, ...value) => value.some(Boolean) && [h('dt', {}, term), h('dd', {}, ...value)];
        fill(head, h('h1', {}, plugin.plugin, ' ', h('span', {class: 'version'}, plugin.version)),
            h('div', {class: 'controls'}, isFile && act('Reload', 'reload', 'was reloaded'), isFile && act('Roll back', 'rollback', 'has its content before again'),
                ['quarantined', 'failed', 'left-out'].includes(plugin.state) && act('Release', 'release', 'was released', 'primary')));
        fill(facts, line('State', pill(plugin.state), plugin.reason && h('span', {class: 'reason'}, plugin.reason)),
            line('File', plugin.file), line('Generation', plugin.generation), line('Content', plugin.sha256 && h('code', {}, plugin.sha256.slice(0, 16))),
            line('Rolled back', plugin.rolled_back && 'yes'), plugin.retired?.length > 0 && line('Retiring', plural(plugin.retired.length, 'generation')),
            plugin.refused?.map((one) => line('Refused', typeof one === 'string' ? one : one.reason ?? JSON.stringify(one))));
        crashes.hidden = plugin.crashes.length === 0;
        fill(crashes, h('h2', {}, 'Crashes'), plugin.crashes.map(crashRow));
        history.hidden = plugin.history.length === 0;
        fill(history, h('h2', {}, 'History'), h('ol', {class: 'history'}, plugin.history.slice().reverse()
            .map((one) => h('li', {}, moment(one.time_ms), h('span', {class: 'kind'}, one.event), h('span', {class: 'gist'}, one.text)))));
    }

    refresh();
    return {refresh};
}
