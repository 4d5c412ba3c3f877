// tool.js - one tool: its schema and examples, a form to call it, what its calls were.
import {ask, call, part, withQuery} from './api.js';
import {action, block, duration, empty, fill, h, note, pill, plural, pretty} from './dom.js';
import {argumentsForm} from './form.js';
import {charts} from './chart.js';
import {callRows} from './log.js';

const ranges = [['3600', 'Last hour'], ['86400', 'Last day'], ['604800', 'Last week'], ['', 'All kept']];
const callsMax = 1000;

export function showTool(root, name) {
    let tool;
    let shown; // what of the tool the form was made from
    const abort = new AbortController();
    const head = h('div', {class: 'head'});
    const facts = h('dl', {class: 'pairs'});
    const about = h('p', {class: 'lead'});
    const caller = h('section', {class: 'card', 'aria-label': 'Call'});
    const history = h('section', {class: 'card', 'aria-label': 'History'});
    const definition = h('section', {class: 'card', 'aria-label': 'Definition'});
    fill(root, h('p', {class: 'crumb'}, h('a', {href: '#/tools'}, '← Tools')), head, h('div', {class: 'profile'}, about, facts), caller, history, definition);

    const path = () => `/api/tools/${part(`${tool.name}@${tool.version}`)}`;

    async function set(change) {
        try {
            await ask('PATCH', path(), change);
        } catch (error) {
            note(error.message, 'bad');
        }
        await refresh();
    }

    // ------------------------------------------------------------ what it is

    function showHead() {
        const toggle = h('input', {type: 'checkbox', role: 'switch', class: 'switch', checked: tool.enabled, 'aria-label': 'Enabled', on: {change: () => set({enabled: toggle.checked})}});
        const number = h('input', {type: 'number', class: 'priority', value: tool.priority, step: '1', 'aria-label': 'Priority', on: {change: () => {
            if (number.value !== '' && number.checkValidity()) {
                set({priority: Number(number.value)});
            }
        }}});
        fill(head, h('h1', {}, tool.name, ' ', h('span', {class: 'version'}, tool.version)),
            h('div', {class: 'controls'}, h('label', {class: 'inline'}, 'Enabled', toggle), h('label', {class: 'inline'}, 'Priority', number),
                tool.permission !== 'safe' && action('Grant for an hour', async () => {
                    await ask('POST', '/api/grants', {tool: `${tool.name}@${tool.version}`, seconds: 3600});
                    note(`${tool.name} runs without being asked about for an hour`);
                })));
        fill(about, tool.description ?? '');
        const pair = (term, ...value) => [h('dt', {}, term), h('dd', {}, ...value)];
        fill(facts, pair('State', pill(tool.enabled ? tool.state : 'disabled'), tool.reason && h('span', {class: 'reason'}, tool.reason)),
            pair('Permission', pill(tool.permission)),
            pair('Plugin', h('a', {href: `#/plugins/${part(tool.plugin)}`}, tool.plugin), tool.trust && ` · ${tool.trust}`, tool.generation > 0 && ` · generation ${tool.generation}`),
            pair('Runs', tool.isolation?.isolation === 'process' ? `in a worker${tool.isolation.capabilities?.length ? `, may ${tool.isolation.capabilities.join(', ')}` : ''}` : 'in the host'),
            tool.category && pair('Category', tool.category), tool.tags.length > 0 && pair('Tags', tool.tags.map((tag) => h('span', {class: 'tag'}, tag))),
            tool.deprecated && pair('Deprecated', tool.deprecated),
            tool.versions.length > 1 && pair('Versions', tool.versions.map((version) => h('a', {class: 'tag', href: `#/tools/${part(`${tool.name}@${version}`)}`}, version))));
    }

    // ------------------------------------------------------------ calling it

    function showCall() {
        const form = argumentsForm(tool.inputSchema);
        const result = h('div', {class: 'result', 'aria-live': 'polite'});
        let running;
        const run = h('button', {type: 'button', class: 'primary', on: {click: begin}}, 'Call');
        const stop = h('button', {type: 'button', hidden: true, on: {click: () => running?.abort()}}, 'Cancel');

        async function begin() {
            if (running) {
                return;
            }
            const began = performance.now();
            running = new AbortController();
            stop.hidden = false;
            run.setAttribute('aria-disabled', 'true');
            const lines = h('div', {class: 'progress'});
            fill(result, h('p', {class: 'help'}, 'It runs …'), lines);
            try {
                const json = await call(`${path()}/call`, form.text(), {signal: running.signal, progress: ({progress, log}) => {
                    lines.append(progress ? h('p', {}, progress.total > 0 && h('progress', {max: progress.total, value: progress.done, 'aria-label': 'Progress'}), ' ', progress.message ?? '')
                        : h('p', {class: 'help'}, `${log.level}: ${log.line}`));
                }});
                fill(result, h('p', {class: 'outcome'}, pill('ok'), ` after ${duration(json.duration_ns)}`), block(pretty(json.result), 'Result'));
            } catch (error) {
                const {type, field, trace} = error.error ?? {};
                fill(result, h('p', {class: 'outcome'}, pill(error.name === 'AbortError' ? 'Cancelled' : type ?? 'failed', type === 'ConfirmationRequired' ? 'warn' : 'bad'), ` after ${duration((performance.now() - began) * 1e6)}`),
                    error.name !== 'AbortError' && h('p', {class: 'message'}, error.message),
                    type === 'ConfirmationRequired' && h('p', {class: 'help'}, 'It waits at ', h('a', {href: '#/approvals'}, 'Approvals'), ' for another administrator than the token that called it; or grant the tool, and call it again.'),
                    trace?.length > 0 && block(trace.join('\n'), 'Backtrace'));
                if (field !== undefined) {
                    form.mark(field, error.message);
                }
            }
            running = undefined;
            stop.hidden = true;
            run.removeAttribute('aria-disabled');
            showHistory();
        }

        const examples = tool.examples.map((example, i) => h('button', {type: 'button', class: 'quiet', title: JSON.stringify(example.arguments),
            on: {click: () => form.set(example.arguments)}}, tool.examples.length > 1 ? `Example ${i + 1}` : 'Example'));
        fill(caller, h('div', {class: 'card-head'}, h('h2', {}, 'Call'), h('div', {class: 'examples'}, examples)), form.element, h('div', {class: 'row'}, run, stop), result);
        abort.signal.addEventListener('abort', () => running?.abort());
    }

    // ------------------------------------------------------------ its calls

    const range = h('select', {'aria-label': 'How far back', on: {change: () => showHistory()}}, ranges.map(([value, label]) => h('option', {value, selected: value === ''}, label)));
    const plots = h('div', {class: 'plots'});
    const rows = h('div', {});
    fill(history, h('div', {class: 'card-head'}, h('h2', {}, 'History'), range), plots, rows);
    addEventListener('new-day', () => tool && showHistory(), {signal: abort.signal});

    async function showHistory() {
        const since_ms = range.value ? Date.now() - Number(range.value) * 1000 : undefined;
        try {
            const {calls} = await ask('GET', withQuery('/api/log', {tool: `${tool.name}@${tool.version}`, since_ms, limit: callsMax}), undefined, {signal: abort.signal});
            if (calls.length === 0) {
                fill(plots, empty('No calls in this time.'));
                fill(rows);
                return;
            }
            const whole = calls.length === callsMax ? `Made of the newest ${callsMax.toLocaleString()} calls; there may be more before them.` : plural(calls.length, 'call');
            fill(plots, charts(calls, calls.length === callsMax ? undefined : since_ms), h('p', {class: 'help'}, whole));
            fill(rows, callRows(calls.slice(-10).reverse(), {short: true}));
        } catch (error) {
            if (error.name !== 'AbortError' && error.status !== 0) {
                fill(plots, empty(error.message));
            }
        }
    }

    function showDefinition() {
        fill(definition, h('h2', {}, 'Definition'),
            tool.prototype && [h('h3', {}, 'Prototype'), block(tool.prototype, 'Prototype')],
            h('h3', {}, 'Schema of the arguments'), block(pretty(tool.inputSchema), 'Schema of the arguments'),
            tool.outputSchema && [h('h3', {}, 'Schema of the result'), block(pretty(tool.outputSchema), 'Schema of the result')],
            tool.examples.length > 0 && [h('h3', {}, 'Examples'), tool.examples.map((example, i) => block(pretty(example), `Example ${i + 1}`))]);
    }

    async function refresh() {
        try {
            tool = await ask('GET', `/api/tools/${part(name)}`, undefined, {signal: abort.signal});
        } catch (error) {
            if (error.name !== 'AbortError' && error.status !== 0) {
                fill(root, h('p', {class: 'crumb'}, h('a', {href: '#/tools'}, '← Tools')), h('h1', {}, name), empty(error.message));
            }
            return;
        }
        showHead();
        const made = JSON.stringify([tool.inputSchema, tool.outputSchema, tool.examples, tool.version]);
        if (made !== shown) { // what was written into the form stays, unless it is another one
            shown = made;
            showCall();
            showDefinition();
            showHistory();
        }
    }

    refresh();
    return {refresh, leave: () => abort.abort()};
}
