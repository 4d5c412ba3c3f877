// page.mjs URL TOKEN - the page of a server, open in Chromium until the end of the input; prints a line when it is there.
import {existsSync} from 'node:fs';
import {chromium} from 'playwright-core';

const [url, token] = process.argv.slice(2);
const program = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync);
if (!program) {
    process.exit(1);
}
const browser = await chromium.launch({executablePath: program, args: process.getuid() === 0 ? ['--no-sandbox'] : []});
const page = await browser.newPage();
await page.goto(url);
await page.getByLabel('Token of an administrator').fill(token);
await page.getByRole('button', {name: 'Log in'}).click();
await page.locator('.tool').first().waitFor();
console.log('open');
process.stdin.on('end', async () => {
    await browser.close();
    process.exit(0);
});
process.stdin.resume();
