// Searches the messages and runs that words.js lists, without any network. Texts are only ever set as text.
"use strict";
(() => {
  const SHOWN = 100;
  const form = document.getElementById("search");
  const query = document.getElementById("query");
  const told = document.getElementById("told");
  const found = document.getElementById("found");
  let entries = null;
  let asked = false;

  const plain = (text) => text.normalize("NFKC").toLowerCase();

  // The list may be large, so it is loaded when somebody begins to search.
  const load = () => {
    if (asked) return;
    asked = true;
    told.textContent = "Loading…";
    const script = document.createElement("script");
    script.src = "words.js";
    script.onload = () => {
      entries = self.comityWords.map((entry) => ({ entry, text: plain(entry.slice(4, 7).join("\n")) }));
      show();
    };
    script.onerror = () => { told.textContent = "words.js cannot be read."; };
    document.head.append(script);
  };

  // Of a message: thread, page, number. Of what happened to a run: run, page, place in the log.
  const line = ([whole, page, part, at, from, subject, , kind]) => {
    const [file, mark] = kind === "run" ? ["run-", "#e"] : ["thread-", "#m"];
    const item = document.createElement("li");
    const link = document.createElement("a");
    const name = document.createElement("bdi");
    const about = document.createElement("p");
    link.href = file + Number(whole) + (page > 1 ? "-" + Number(page) : "") + ".html" + mark + Number(part);
    name.textContent = subject;
    link.append(name);
    about.className = "about";
    const sender = document.createElement("bdi");
    sender.textContent = from;
    about.append(at.slice(0, 19).replace("T", " ") + " UTC · ", sender);
    item.append(link, about);
    return item;
  };

  const show = () => {
    if (entries === null) return;
    const words = plain(query.value).split(/\s+/).filter(Boolean);
    found.replaceChildren();
    told.textContent = "";
    if (words.length === 0) return;
    const hits = entries.filter(({ text }) => words.every((word) => text.includes(word)));
    // By time, and what is of the same time by its number.
    const newer = (a, b) => (a[3] === b[3] ? b[2] - a[2] : a[3] < b[3] ? 1 : -1);
    hits.sort((a, b) => newer(a.entry, b.entry));
    told.textContent = hits.length > SHOWN
      ? "The newest " + SHOWN + " of " + hits.length + " found"
      : hits.length + " found";
    found.append(...hits.slice(0, SHOWN).map(({ entry }) => line(entry)));
  };

  let due = 0;
  query.addEventListener("focus", load);
  query.addEventListener("input", () => {
    load();
    clearTimeout(due);
    due = setTimeout(show, 120);
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); show(); });
  form.hidden = false;
})();
