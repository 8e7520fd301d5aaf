// Reads an export in Chromium as a person would: from the disk, with and without JavaScript.
//   export_browser.mjs EXPORT PLAYWRIGHT_CORE
// The export holds a message with `needle` in its body, and one whose subject begins with `hostile`
// that carries `notes.txt` and `page.html`, which would run a script.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [directory, playwright] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(playwright);
const index = pathToFileURL(directory + "/index.html").href;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});

// A page that must not say, ask or load anything but what lies in the directory.
const watched = async (settings) => {
  const context = await browser.newContext(settings);
  const wrong = [];
  const watch = (page) => {
    page.on("console", (message) => wrong.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on("request", (request) => {
      if (!request.url().startsWith(pathToFileURL(directory).href)) wrong.push(`loads ${request.url()}`);
    });
  };
  context.on("page", watch);
  return { page: await context.newPage(), wrong };
};

const search = async (page, words, count) => {
  await page.goto(index);
  await page.getByRole("searchbox").pressSequentially(words);
  // It searches while one types.
  await page.locator("#told", { hasText: new RegExp(`^${count} found$`) }).waitFor();
  assert.equal(await page.locator("#found li").count(), count, words);
};

try {
  const { page, wrong } = await watched({ acceptDownloads: true });
  await search(page, "NEEDLE", 1);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).maxWidth), "960px", "no style");
  await page.locator("#found a").click();
  await page.waitForURL(/thread-[0-9]+\.html#m[0-9]+$/);
  assert.match(await page.locator("article:target pre").innerText(), /the needle in it/);
  await page.getByText("All threads").click();
  await page.waitForURL(index);

  await search(page, "hostile onerror", 1);
  const subject = await page.locator("#found a").innerText();
  assert.match(subject, /^hostile <\/title><script>.*<img src=x onerror=/);
  await page.locator("#found a").click();
  await page.waitForURL(/#m[0-9]+$/);
  assert.match(await page.locator("article:target pre").innerText(), /<\/pre><script>document\.title = "ran"/);
  assert.equal(await page.title(), subject);
  assert.equal(await page.locator("img, iframe, script").count(), 0);

  // What somebody attached is shown as text or saved, and never run.
  const attached = (name) => page.locator(".attachments a", { hasText: name });
  const saved = page.waitForEvent("download");
  await attached("page.html").click();
  assert.match((await saved).suggestedFilename(), /\.bin$|^page\.html$/);
  assert.equal(await page.title(), subject);
  await attached("notes.txt").click();
  await page.waitForURL(/attachments\/[0-9a-f]{64}\.txt$/);
  assert.equal(await page.locator("body").innerText(), "plain notes");
  assert.deepEqual(wrong, []);

  const bare = await watched({ javaScriptEnabled: false });
  await bare.page.goto(index);
  assert.equal(await bare.page.locator("#search").isVisible(), false);
  await bare.page.getByRole("link", { name: "Plain words" }).click();
  assert.match(await bare.page.locator("article pre").innerText(), /the needle in it/);
  assert.deepEqual(bare.wrong, []);
  console.log("searched, read and left alone");
} finally {
  await browser.close();
}
