// Runs the official conformance suite's scenarios that a server with tools only can be held to.
//
// Usage: TOKEN=... node mcp_conformance.mjs http://127.0.0.1:7117 path/to/@modelcontextprotocol/conformance
// Needs Node 22. The suite cannot send a credential, so it talks to a small proxy that adds one, and
// that calls the server by its own name where the suite called the proxy by the proxy's.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const [target, suite] = [new URL(process.argv[2]), join(process.argv[3], 'dist/index.js')];

// Scenarios by protocol version, with the checks that need test tools, prompts or resources.
const SCENARIOS = {
  '2025-11-25': { 'server-initialize': [], ping: [], 'tools-list': [], 'dns-rebinding-protection': [] },
  '2026-07-28': {
    'server-stateless': [
      'sep-2575-server-rejects-undeclared-capability',
      'sep-2575-missing-capability-http-400',
      'sep-2575-http-server-no-independent-requests-on-stream',
      'sep-2575-server-no-log-without-loglevel',
    ],
    'tools-list': [],
    'dns-rebinding-protection': [],
    'http-header-validation': [],
    'server-sse-multiple-streams': [],
    'input-required-result-unsupported-methods': [],
    caching: [
      'sep-2549-prompts-list-caching-hints',
      'sep-2549-resources-list-caching-hints',
      'sep-2549-resources-templates-list-caching-hints',
    ],
  },
};

const proxy = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${process.env.TOKEN}` };
  const own = `127.0.0.1:${proxy.address().port}`;
  if (headers.host === own) headers.host = target.host;
  if (headers.origin === `http://${own}`) headers.origin = target.origin;
  const { hostname, port } = target;
  const options = { hostname, port, method: request.method, path: request.url, headers };
  const onward = http.request(options, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  request.pipe(onward);
});
await new Promise((listening) => proxy.listen(0, '127.0.0.1', listening));
const url = `http://127.0.0.1:${proxy.address().port}/mcp`;

let wrong = 0;
for (const [version, scenarios] of Object.entries(SCENARIOS)) {
  for (const [scenario, excused] of Object.entries(scenarios)) {
    const out = mkdtempSync(join(tmpdir(), 'mcp-conformance-'));
    const options = ['server', '--url', url, '--scenario', scenario, '--spec-version', version, '-o', out];
    await promisify(execFile)(process.execPath, [suite, ...options]).catch(() => {});
    const checks = readdirSync(out).flatMap((run) => JSON.parse(readFileSync(join(out, run, 'checks.json'))));
    const failed = checks.filter((check) => check.status === 'FAILURE' && !excused.includes(check.id));
    const passed = checks.filter((check) => check.status === 'SUCCESS').length;
    const good = failed.length === 0 && passed > 0;
    wrong += good ? 0 : 1;
    console.log(`${good ? 'ok  ' : 'FAIL'} ${version} ${scenario}: ${passed} passed, ${excused.length} excused`);
    failed.forEach((check) => console.log(`     ${check.id}: ${check.errorMessage}`));
  }
}
proxy.close();
process.exit(wrong === 0 ? 0 : 1);
